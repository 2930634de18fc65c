import { readFileSync } from 'node:fs'
import type { OwnSettings, SealConfig } from './config.js'
import type { Findings, Stanza } from './tree.js'
import type { ConfigSources } from './sources.js'
import { textOf } from './values.js'
import type { Environment } from './environment.js'
import { DEFAULT_ORIGIN } from './resolved-settings.js'

const KEY_BYTES = 32

/** The seal of this cluster: key shares unless a stanza names another. */
export const resolveSeal = ({ files, env, settled, findings }: ConfigSources, own: OwnSettings): SealConfig => {
  const stanza = files.seal
  settled.note('seal', stanza?.label ?? 'shamir', stanza?.origin ?? DEFAULT_ORIGIN)
  if (!stanza || stanza.label === 'shamir') return { type: 'shamir' }
  if (stanza.label !== 'static') return resolveSimulated(stanza, own, findings)
  if (stanza.values.disabled?.value === true) return { type: 'shamir' }
  const read = (name: string): Buffer | undefined => {
    const given = settled.secret(`seal.${name}`, [stanza.values[name]])
    if (given === '') return undefined
    const key = readKey(given, env)
    if (key.ok) return key.bytes
    findings.problems.push({ origin: stanza.values[name]?.origin ?? stanza.origin, text: `${name}: ${key.problem}` })
    return undefined
  }
  const id = (name: string) => settled.text(`seal.${name}`, [stanza.values[name]])
  const key = read('current_key')
  if (textOf(stanza.values.current_key) === '')
    findings.problems.push({ origin: stanza.origin, text: 'seal "static" needs current_key' })
  const previous = read('previous_key')
  return {
    type: 'auto',
    name: 'static',
    keyId: id('current_key_id'),
    key,
    previous: previous ? { keyId: id('previous_key_id'), key: previous } : undefined,
  }
}

const STAND_IN =
  'UNDERSTUDY_SIMULATE_SEALS=true in the environment, or simulate_seals = true in the stanza understudy, lets a key in a file beside the data stand in for it'

const resolveSimulated = ({ label, origin }: Stanza, own: OwnSettings, findings: Findings): SealConfig => {
  if (own.simulateSeals) return { type: 'auto', name: label, keyId: 'simulated', key: undefined, previous: undefined }
  findings.problems.push({
    origin,
    text: `seal "${label}" is not supported; supported are shamir and static. ${STAND_IN}`,
  })
  return { type: 'shamir' }
}

type KeyRead = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly problem: string }

/** 32 bytes from hex or base64 text, from `file://path` (raw or text) or `env://NAME`. The key never stands in a problem. */
const readKey = (value: string, env: Environment): KeyRead => {
  if (value.startsWith('env://')) {
    const name = value.slice('env://'.length)
    const text = env[name]
    return text === undefined ? { ok: false, problem: `the variable ${name} is not set` } : decodeKey(Buffer.from(text))
  }
  if (!value.startsWith('file://')) return decodeKey(Buffer.from(value))
  const file = value.slice('file://'.length)
  try {
    return decodeKey(readFileSync(file))
  } catch (error) {
    return { ok: false, problem: `${file} cannot be read: ${error instanceof Error ? error.message : error}` }
  }
}

const decodeKey = (raw: Buffer): KeyRead => {
  if (raw.length === KEY_BYTES) return { ok: true, bytes: raw }
  const text = raw.toString('utf8').trim()
  if (/^[0-9a-fA-F]{64}$/.test(text)) return { ok: true, bytes: Buffer.from(text, 'hex') }
  const decoded = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  return decoded.length === KEY_BYTES
    ? { ok: true, bytes: decoded }
    : { ok: false, problem: 'the key must be 32 bytes, as hex or base64' }
}
