/**
 * Prints the results of a command in the requested format on standard output, and warnings and notes on standard error.
 */
import { RawNumber } from '../../base/json.js'
import { printJson, textsOfJson } from '../../base/json-print.js'
import {
  isMap,
  type JsonMap,
  localError,
  remoteError,
  type Secret,
  sortKeys,
  textOf,
  VAULT_EXIT,
  type VaultIo,
} from './model.js'
import { dataText, formatPairs, formatTable, goDuration, goQuotedList, goText, type Row, wrapIndented } from './text.js'
import { loadYaml } from '../../lab/documents/yaml-document.js'

const FORMATS = ['table', 'json', 'yaml', 'raw'] as const
type Format = (typeof FORMATS)[number]

export const parseFormat = (text: string): Format => {
  const lower = text.toLowerCase()
  const format = FORMATS.find((known) => known === (lower === 'yml' ? 'yaml' : lower))
  if (!format) throw localError(`Invalid output format: ${text}`)
  return format
}

export class Output {
  readonly format: Format
  /** The name of the only field to print. Empty to print all fields. */
  readonly field: string
  readonly #io: VaultIo

  constructor(io: VaultIo, format: Format, field: string) {
    this.#io = io
    this.format = format
    this.field = field
  }

  get isTable(): boolean {
    return this.format === 'table'
  }

  line(text: string): void {
    this.#io.write(`${text}\n`)
  }

  /** Prints the warnings of a response and a success message. The message is printed only in the format `table`. */
  success(text: string, secret?: Secret): number {
    if (secret) this.warn(secret)
    if (this.isTable) this.line(`Success! ${text}`)
    return VAULT_EXIT.ok
  }

  note(text: string): void {
    this.#io.complain(text)
  }

  /**
   * Prints a value as JSON or YAML, or the result of `table` in the format `table`. Throws a local error for the format
   * `raw`.
   */
  value(value: unknown, table: () => string): number {
    if (this.format === 'raw') throw localError('this command does not support the -format=raw option')
    this.line(this.isTable ? table() : this.#structured(value))
    return VAULT_EXIT.ok
  }

  /** Prints an object, or only the field that `-field` requests. */
  record(record: JsonMap, table: () => string): number {
    if (this.field === '') return this.value(record, table)
    return this.single(this.field, record[this.field])
  }

  secret(secret: Secret): number {
    if (this.field !== '') return this.single(this.field, findField(secret, this.field))
    if (this.format === 'raw') {
      this.#io.write(secret.bytes)
      return VAULT_EXIT.ok
    }
    if (this.isTable) this.warn(secret)
    const rows = this.isTable ? secretRows(secret) : []
    if (this.isTable && rows.length === 0) return VAULT_EXIT.ok
    return this.value(secretJson(secret), () => formatPairs(rows))
  }

  /** Prints a list of keys. Throws a remote error for an empty list, as Vault does. */
  keys(keys: readonly unknown[] | undefined, path: string): number {
    if (keys && keys.length > 0)
      return this.value(keys, () =>
        formatTable(
          ['Keys'],
          keys.map((key) => [goText(key)]),
        ),
      )
    if (!this.isTable) this.line('{}')
    throw remoteError(this.isTable ? `No value found at ${path}` : '')
  }

  /**
   * Prints a single value. The value has a line end only on a terminal, so that a program receives it unchanged. Throws
   * a local error if the value is undefined.
   */
  single(name: string, value: unknown): number {
    if (value === undefined) throw localError(`Field ${JSON.stringify(name)} not present in secret`)
    const text = this.isTable || this.format === 'raw' ? goText(value) : this.#structured(value)
    this.#io.write(this.#io.isStdoutTty ? `${text}\n` : Buffer.from(text))
    return VAULT_EXIT.ok
  }

  warn({ warnings }: Pick<Secret, 'warnings'>): void {
    if (warnings.length === 0) return
    const lines = warnings.map((warning) => `${wrapIndented(`* ${warning}`, 2)}\n`)
    this.note(`WARNING! The following warnings were returned from Vault:\n\n${lines.join('\n')}`)
  }

  #structured(value: unknown): string {
    if (this.format !== 'yaml') return printJson(value, 2)
    return loadYaml()
      .stringify(plain(value), { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false })
      .trimEnd()
  }
}

/** Replaces exact JSON numbers by numbers that the YAML library can print. Integers keep all digits. */
const plain = (value: unknown): unknown => {
  if (value instanceof RawNumber) return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text)
  if (Array.isArray(value)) return value.map(plain)
  return isMap(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)])) : value
}

/** Prints the response to LIST: only the keys, or also their details from `key_info`. */
export const printListing = (out: Output, secret: Secret | undefined, at: string, isDetailed = false): number => {
  if (secret?.wrapInfo || (secret && out.format === 'raw')) return out.secret(secret)
  const keys = Array.isArray(secret?.data?.keys) ? secret.data.keys : undefined
  if (secret && out.isTable) out.warn(secret)
  const info = secret?.data?.key_info
  if (!isDetailed || !keys || !isMap(info)) return out.keys(keys, at)
  const columns = [...new Set(Object.values(info).flatMap((item) => (isMap(item) ? Object.keys(item) : [])))].sort()
  return out.value(secret?.data, () =>
    formatTable(
      ['Keys', ...columns],
      textsOfJson(keys).map((key) => {
        const item = info[key]
        return [
          key,
          ...columns.map((column) => (isMap(item) && item[column] !== undefined ? goText(item[column]) : '')),
        ]
      }),
    ),
  )
}

const secretRows = (secret: Secret): Row[] => [
  ...leaseRows(secret),
  ...(secret.auth ? [...rowsOf(AUTH, secret.auth), ...metadataRows(secret.auth)] : []),
  ...(secret.wrapInfo ? rowsOf(WRAP, secret.wrapInfo).map(([name, ...cells]) => [`${name}:`, ...cells]) : []),
  ...(secret.data ? dataRows(secret.data) : []),
]

export const dataRows = (data: JsonMap): Row[] =>
  Object.keys(data)
    .sort()
    .map((key) => [key, dataText(key, data[key])])

/** Returns the rows that describe the lease. A response without a lease has only the row `refresh_interval`. */
const leaseRows = ({ leaseId, leaseDuration, isRenewable }: Secret): Row[] => {
  if (Number(goText(leaseDuration)) <= 0) return []
  if (leaseId === '') return [['refresh_interval', goDuration(leaseDuration)]]
  return [
    ['lease_id', leaseId],
    ['lease_duration', goDuration(leaseDuration)],
    ['lease_renewable', String(isRenewable)],
  ]
}

/** Formats the lifetime of a token, in seconds. A token that does not expire has the lifetime `∞`. */
const lifetime = (seconds: unknown): string => (Number(goText(seconds ?? 0)) === 0 ? '∞' : goDuration(seconds))

/**
 * One row of the table for `auth` or `wrap_info`: its name in the table and for `-field`, its JSON key, and its format.
 */
type RowSpec = readonly [name: string, key: string, format: (value: unknown) => string]

const AUTH: readonly RowSpec[] = [
  ['token', 'client_token', textOf],
  ['token_accessor', 'accessor', textOf],
  ['token_duration', 'lease_duration', lifetime],
  ['token_renewable', 'renewable', (value) => String(value === true)],
  ['token_policies', 'token_policies', goQuotedList],
  ['identity_policies', 'identity_policies', goQuotedList],
  ['policies', 'policies', goQuotedList],
]

const WRAP: readonly RowSpec[] = [
  ['wrapping_token', 'token', textOf],
  ['wrapping_accessor', 'accessor', textOf],
  ['wrapping_token_ttl', 'ttl', goDuration],
  ['wrapping_token_creation_time', 'creation_time', textOf],
  ['wrapping_token_creation_path', 'creation_path', textOf],
  ['wrapped_accessor', 'wrapped_accessor', textOf],
]

/** Returns the rows of `auth` or `wrap_info`. The row `wrapped_accessor` is omitted if the field is absent or empty. */
const rowsOf = (rows: readonly RowSpec[], object: JsonMap): Row[] =>
  rows
    .filter(([name]) => name !== 'wrapped_accessor' || object[name])
    .map(([name, key, format]) => [name, format(object[key])])

const metadataRows = (auth: JsonMap): Row[] =>
  Object.entries((auth.metadata ?? {}) as JsonMap)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => [`token_meta_${key}`, goText(value)])

const fieldsOf = (rows: readonly RowSpec[], object: JsonMap | undefined): JsonMap =>
  Object.fromEntries(object ? rows.map(([name, key]) => [name, object[key]]) : [])

/**
 * Returns the field that `-field` names, or undefined if the response does not have the field. A field of the data
 * takes precedence over a field of the envelope.
 */
const findField = ({ data, auth, wrapInfo, leaseId, ...rest }: Secret, name: string): unknown => {
  const fields: JsonMap = {
    data,
    ...fieldsOf(AUTH, auth && { identity_policies: [], ...auth }),
    ...fieldsOf(WRAP, wrapInfo),
    refresh_interval: rest.leaseDuration,
    lease_id: leaseId || undefined,
    lease_duration: rest.leaseDuration,
    lease_renewable: rest.isRenewable,
    ...data,
  }
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** Returns the response as JSON, with its keys in Vault's order. */
const secretJson = (secret: Secret): JsonMap => ({
  request_id: secret.requestId,
  lease_id: secret.leaseId,
  lease_duration: secret.leaseDuration,
  renewable: secret.isRenewable,
  data: secret.data ? sortKeys(secret.data) : null,
  warnings: secret.warnings.length > 0 ? secret.warnings : null,
  ...(secret.auth && { auth: secret.auth }),
  ...(secret.wrapInfo && { wrap_info: secret.wrapInfo }),
  ...(secret.mountType && { mount_type: secret.mountType }),
})
