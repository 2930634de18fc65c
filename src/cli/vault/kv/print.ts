/** Tables of KV v2: where the secret lies, what is known about its version, and the data itself. */
import { isMap, type JsonMap } from '../model/json-map.js'
import { formatPairs, formatTitle } from '../render/columns.js'
import type { Output } from '../render/output.js'
import { dataRows } from '../render/secret-rows.js'
import type { Secret } from '../model/secret.js'

/** Prints the response of a write: the metadata of the new version. */
export const printVersion = (out: Output, secret: Secret, at: string): number => {
  if (!isPlainTable(out, secret)) return out.secret(secret)
  out.warn(secret)
  printPath(out, 'Secret Path', at)
  printSection(out, 'Metadata', secret.data ?? {})
  return 0
}

/** Prints the response of a read. A deleted version has metadata and no data. */
export const printSecretVersion = (out: Output, secret: Secret, at: string): number => {
  if (!isPlainTable(out, secret)) return out.secret(secret)
  const { data, metadata } = secret.data ?? {}
  out.warn(secret)
  printPath(out, 'Secret Path', at)
  if (isMap(metadata)) printSection(out, 'Metadata', metadata)
  if (isMap(metadata) && isMap(data)) out.line('')
  if (isMap(data)) printSection(out, 'Data', data)
  return 0
}

/** Prints the metadata of a key and of each of its versions. */
export const printMetadata = (out: Output, secret: Secret, at: string): number => {
  if (!isPlainTable(out, secret)) return out.secret(secret)
  const { versions, ...rest } = secret.data ?? {}
  out.warn(secret)
  printPath(out, 'Metadata Path', at)
  printSection(out, 'Metadata', rest)
  const numbers = Object.keys(isMap(versions) ? versions : {}).sort((a, b) => Number(a) - Number(b))
  for (const number of numbers) {
    const version = isMap(versions) ? versions[number] : undefined
    out.line('')
    printSection(out, `Version ${number}`, isMap(version) ? version : {})
  }
  return 0
}

const isPlainTable = (out: Output, secret: Secret): boolean => out.isTable && out.field === '' && !secret.wrapInfo

const printPath = (out: Output, title: string, at: string): void =>
  out.line(`${formatTitle(title, at.length)}\n${at}\n`)

/** Columns are as wide as the longest key, four spaces and the word `Value`. */
const COLUMNS_BESIDES_KEY = 9

const printSection = (out: Output, title: string, data: JsonMap): void => {
  const width = Math.max(0, ...Object.keys(data).map((key) => key.length)) + COLUMNS_BESIDES_KEY
  out.line(`${formatTitle(title, width)}\n${formatPairs(dataRows(data))}`)
}
