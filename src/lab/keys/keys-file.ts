import { statSync } from 'node:fs'
import { parseJsonObject } from '../../base/json.js'
import { replaceFile } from '../../base/replace-file.js'
import { shellWord } from '../../base/shell.js'
import { isRecord } from '../documents/schema.js'
import { readDocumentFile } from '../documents/yaml-document.js'
import type { AttachedCluster, ClusterKeys, WiredClusters } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'

/** The keys of a cluster, and its addresses if they are known. */
export interface KnownCluster extends ClusterKeys {
  readonly apiAddress?: string | undefined
  readonly nodes?: AttachedCluster['nodes']
}

/** The content of a keys file. */
export interface KnownKeys {
  readonly topology: string | undefined
  /** The names of completed links, if the file contains them. */
  readonly joined: readonly string[] | undefined
  /** Keys by the letter of the cluster. */
  readonly clusters: ReadonlyMap<string, KnownCluster>
}

export const NO_KEYS: KnownKeys = { topology: undefined, joined: undefined, clusters: new Map() }

/** Mode bits of a file that its group or other users can read. */
const OTHERS_MAY_READ = 0o044

/**
 * Reads keys in one of three formats: the output of `wire --keep`, `{"A": {...}, "B": {...}}`, or a list under
 * `clusters`. The entry of a cluster can be the output of `operator init -format=json`. Calls `onWarning` if other
 * users can read the file.
 */
export const readKeysFile = (file: string, onWarning: (text: string) => void): KnownKeys => {
  const text = readDocumentFile(file)
  if ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS_MAY_READ)
    onWarning(`warning: other users can read ${file}, which contains keys; run "chmod 600 ${shellWord(file)}"`)
  return parseKeys(text, file)
}

/** Parses the content of a keys file. `file`: its name in messages. Throws LabError `usage`. */
export const parseKeys = (text: string, file: string): KnownKeys => {
  const document = parseJsonObject(Buffer.from(text))
  const listed = Array.isArray(document?.clusters)
    ? document.clusters.map((one: unknown) => [String((isRecord(one) && one.name) || ''), one] as const)
    : Object.entries(document ?? {}).filter(([name]) => /^[A-Z]$/.test(name))
  const clusters = new Map(
    listed.map(([name, keys]) => {
      if (!/^[A-Z]$/.test(name) || !isRecord(keys))
        throw new LabError('usage', `${file}: "${name}" must be a letter from A to Z with a map of keys`)
      return [name, keysOf(keys, name, file)] as const
    }),
  )
  if (clusters.size === 0)
    throw new LabError(
      'usage',
      `${file} has no keys of clusters: use a file that "wire --keep" wrote, or {"A": {"rootToken": "...", "unsealKeys": ["..."], "threshold": 1}, ...}`,
    )
  const topology = typeof document?.topology === 'string' ? document.topology : undefined
  const joined = document && 'joined' in document ? texts(document.joined) : undefined
  return { topology, joined, clusters }
}

const keysOf = (value: Readonly<Record<string, unknown>>, name: string, file: string) => {
  const rootToken = value.rootToken ?? value.root_token ?? ''
  const unsealKeys = texts(value.unsealKeys ?? value.unseal_keys_hex ?? value.unseal_keys_b64 ?? value.keys ?? [])
  const threshold = Number(value.threshold ?? value.unseal_threshold ?? unsealKeys?.length)
  if (typeof rootToken !== 'string' || !unsealKeys || !Number.isInteger(threshold) || threshold > unsealKeys.length)
    throw new LabError(
      'usage',
      `${file}: cluster ${name} needs a string rootToken, a list of strings unsealKeys, and a threshold of at most the number of unsealKeys`,
    )
  const apiAddress = typeof value.apiAddress === 'string' ? value.apiAddress : undefined
  return { rootToken, unsealKeys, threshold, apiAddress, ...nodesOf(value.nodes) }
}

const nodesOf = (value: unknown): Pick<AttachedCluster, 'nodes'> => {
  if (!Array.isArray(value)) return {}
  const nodes = value.map((one: unknown) => (isRecord(one) ? one : {}))
  return { nodes: nodes.map(({ name, apiAddress }) => ({ name: String(name), apiAddress: String(apiAddress) })) }
}

/** Writes a keys file that only its owner can read. A concurrent reader gets the old content or the new content. */
export const writeKeysFile = (file: string, wired: WiredClusters): void => {
  replaceFile(file, `${JSON.stringify(wired, undefined, 2)}\n`)
}

const texts = (value: unknown): string[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined
