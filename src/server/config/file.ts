import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { readNamedText } from '../../base/named-file.js'
import { parseHcl } from '../../base/hcl.js'
import { blocksOf, type HclBlock } from '../../base/hcl-blocks.js'
import { type HclBody, HclError, type HclItem } from '../../base/hcl-tree.js'
import { nearest } from '../../base/nearest.js'
import {
  ACCEPTED_BLOCKS,
  ETCD_STORAGE_KEYS,
  type KeyTable,
  LISTENER_KEYS,
  LOCKOUT_KEYS,
  OWN_KEYS,
  REPLICATION_KEYS,
  ROOT_KEYS,
  STATIC_SEAL_KEYS,
  STORAGE_KEYS,
  TRANSIT_SEAL_KEYS,
} from './tables.js'
import { coerce, type Sourced } from './values.js'

/** A problem or a warning in the configuration. Problems prevent startup. Warnings are only printed. */
export interface Problem {
  readonly origin: string
  readonly text: string
}

export interface Findings {
  readonly problems: Problem[]
  readonly warnings: Problem[]
}

/** A stanza of a configuration file with its label, its origin (`file:line`), and its values by key. */
export interface Stanza {
  readonly label: string
  readonly origin: string
  readonly values: Record<string, Sourced>
  readonly body: HclBody
}

const BLOCKS: ReadonlySet<string> = new Set([
  ...['listener', 'storage', 'backend', 'ha_storage', 'ha_backend', 'seal'],
  ...['replication', 'understudy', 'user_lockout'],
])

const SEAL_KEYS: Readonly<Record<string, KeyTable>> = { static: STATIC_SEAL_KEYS, transit: TRANSIT_SEAL_KEYS }

type Values = Record<string, Sourced>

export const emptyFileSettings = () => {
  const root: Values = {}
  const listeners: Stanza[] = []
  const userLockout: Record<string, Values> = {}
  return {
    /** False if a file could not be read or parsed, so that settings may be missing. */
    isWhole: true,
    root,
    listeners,
    storage: undefined as Stanza | undefined,
    haStorage: undefined as Stanza | undefined,
    seal: undefined as Stanza | undefined,
    replication: {} as Values,
    own: {} as Values,
    unauthenticatedMetrics: undefined as Sourced | undefined,
    userLockout,
  }
}

/** The combined settings of all configuration files. Later values override earlier ones. Listeners accumulate. */
export type FileSettings = ReturnType<typeof emptyFileSettings>

/** Reads a configuration file, or all `.hcl` and `.json` files of a directory in the order of their names. */
export const readConfigPath = (given: string, into: FileSettings, findings: Findings): void => {
  try {
    const files = statSync(given).isDirectory()
      ? readdirSync(given)
          .filter((name) => /\.(hcl|json)$/.test(name))
          .sort()
          .map((name) => path.join(given, name))
      : [given]
    for (const file of files) readConfigText(readNamedText(file), file, into, findings)
  } catch (error) {
    into.isWhole = false
    findings.problems.push({ origin: given, text: `cannot be read: ${error instanceof Error ? error.message : error}` })
  }
}

/** Parses the text of a configuration file, and adds its settings to `into` and its problems to `findings`. */
export const readConfigText = (text: string, file: string, into: FileSettings, findings: Findings): void => {
  let body: HclBody
  try {
    body = parseHcl(text, { file })
  } catch (error) {
    if (!(error instanceof HclError)) throw error
    into.isWhole = false
    findings.problems.push({ origin: `${file}:${error.line}`, text: error.reason })
    return
  }
  const others = body.items.filter(({ key }) => !BLOCKS.has(key) && !ACCEPTED_BLOCKS.has(key))
  const isUnknownBlock = ({ key, value }: HclItem) => value.kind === 'object' && !Object.hasOwn(ROOT_KEYS, key)
  for (const { key, line } of others.filter(isUnknownBlock))
    findings.warnings.push({ origin: `${file}:${line}`, text: unknownField(key, [...BLOCKS]) })
  const plain = others.filter((item) => !isUnknownBlock(item))
  Object.assign(into.root, readKeys(plain, ROOT_KEYS, file, findings))
  readStanzas(body, file, into, findings)
  for (const block of readBlocks(body, { name: 'replication', labelCount: 0 }, file, findings)) {
    Object.assign(into.replication, readKeys(block.body.items, REPLICATION_KEYS, file, findings))
  }
  for (const block of readBlocks(body, { name: 'understudy', labelCount: 0 }, file, findings)) {
    Object.assign(into.own, readKeys(block.body.items, OWN_KEYS, file, findings))
  }
  for (const { labels, body: inner } of readBlocks(body, { name: 'user_lockout', labelCount: 1 }, file, findings)) {
    into.userLockout[labels[0] ?? ''] = readKeys(inner.items, LOCKOUT_KEYS, file, findings)
  }
}

const readStanzas = (body: HclBody, file: string, into: FileSettings, findings: Findings): void => {
  const stanza = (block: HclBlock, table: KeyTable): Stanza => ({
    label: block.labels[0] ?? '',
    origin: `${file}:${block.line}`,
    values: readKeys(block.body.items, table, file, findings),
    body: block.body,
  })
  const labelled = (name: string) => readBlocks(body, { name, labelCount: 1 }, file, findings)
  for (const block of labelled('listener')) {
    into.listeners.push(stanza(block, LISTENER_KEYS))
    for (const telemetry of readBlocks(block.body, { name: 'telemetry', labelCount: 0 }, file, findings)) {
      const item = telemetry.body.items.find(({ key }) => key === 'unauthenticated_metrics_access')
      const read = item && coerce('bool', item.value)
      if (!item || !read?.ok) continue
      if (read.value === true) into.unauthenticatedMetrics = { value: true, origin: `${file}:${item.line}` }
    }
  }
  for (const name of ['storage', 'backend']) {
    for (const block of labelled(name)) {
      into.storage = stanza(block, block.labels[0] === 'etcd' ? ETCD_STORAGE_KEYS : STORAGE_KEYS)
    }
  }
  for (const name of ['ha_storage', 'ha_backend']) {
    for (const block of labelled(name)) into.haStorage = stanza(block, STORAGE_KEYS)
  }
  for (const block of labelled('seal')) {
    const keys = SEAL_KEYS[block.labels[0] ?? '']
    into.seal = keys
      ? stanza(block, keys)
      : { ...stanza({ ...block, body: { ...block.body, items: [] } }, {}), body: block.body }
  }
}

/** Returns the warning about an unknown name. Suggests the most similar known name. */
const unknownField = (name: string, known: readonly string[]): string => {
  const meant = nearest(name, known)
  return `unknown or unsupported field ${name} found in configuration${meant ? `; did you mean ${meant}?` : ''}`
}

/**
 * Reads the keys of one body with their types from `table`. Unknown keys cause warnings, and wrong types cause
 * problems.
 */
export const readKeys = (
  items: readonly HclItem[],
  table: KeyTable,
  file: string,
  findings: Findings,
): Record<string, Sourced> => {
  const out: Record<string, Sourced> = {}
  for (const item of items) {
    const origin = `${file}:${item.line}`
    const key = Object.hasOwn(table, item.key) ? table[item.key] : undefined
    if (!key) {
      findings.warnings.push({ origin, text: unknownField(item.key, Object.keys(table)) })
      continue
    }
    if (key.refusal) {
      findings.problems.push({ origin, text: `${item.key}: ${key.refusal}` })
      continue
    }
    if (key.warning) findings.warnings.push({ origin, text: `${item.key}: ${key.warning}` })
    if (item.value.kind === 'object' || (key.kind === 'any' && item.value.kind === 'list')) {
      if (key.kind !== 'any') findings.problems.push({ origin, text: `${item.key} must not be a block` })
      continue
    }
    const read = coerce(key.kind, item.value)
    if (read.ok) out[item.key] = { value: read.value, origin }
    else findings.problems.push({ origin, text: `${item.key} must be ${read.expected}` })
  }
  return out
}

/**
 * Reads the `name "label" { }` blocks of a body in HCL and JSON syntax. Reports a problem for other values of this
 * name.
 */
const readBlocks = (
  body: HclBody,
  { name, labelCount }: { readonly name: string; readonly labelCount: 0 | 1 },
  file: string,
  findings: Findings,
): HclBlock[] => {
  try {
    return blocksOf(body, name, labelCount)
  } catch (error) {
    if (!(error instanceof HclError)) throw error
    findings.problems.push({ origin: `${file}:${error.line}`, text: error.reason })
    return []
  }
}
