/** Check-and-set: a write may name the version it replaces. */
import { invalid } from '../../logical/errors.js'
import { RawNumber } from '../../base/json.js'
import type { JsonValue } from '../../logical/json.js'
import type { KvConfig } from './config.js'
import type { KeyMetadata } from './metadata.js'

/** Throws 400 when the write may not replace the current version. Called inside of the transaction that replaces it. */
export const checkCas = (cas: number | undefined, config: KvConfig, metadata: KeyMetadata | undefined): void => {
  if (cas === undefined) {
    if (config.casRequired || metadata?.casRequired) throw invalid('check-and-set parameter required for this call')
  } else if (cas !== (metadata?.currentVersion ?? 0)) {
    throw invalid('check-and-set parameter did not match the current version')
  }
}

/** `options.cas` as a number, from whatever JSON a client made of it; undefined when it was not sent. */
export const parseCas = (options: { readonly [key: string]: JsonValue } | null): number | undefined => {
  const value = options?.cas
  if (value === undefined) return undefined
  if (value === null || value === '' || value === false) return 0
  if (value === true) return 1
  if (typeof value === 'number' && Number.isInteger(value)) return value
  const text = value instanceof RawNumber ? value.text : value
  if (typeof text === 'string' && /^[+-]?(\d+|0x[0-9a-f]+)$/i.test(text)) return Number(text)
  throw invalid('error parsing check-and-set parameter')
}
