/** Output of a command in the requested format. Data goes to standard output, everything else to standard error. */
import YAML from 'yaml'
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
  /** The only field to print; empty for all fields. */
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

  /** Prints the warnings of a response and a success message. With JSON output, prints no message. */
  success(text: string, secret?: Secret): number {
    if (secret) this.warn(secret)
    if (this.isTable) this.line(`Success! ${text}`)
    return VAULT_EXIT.ok
  }

  note(text: string): void {
    this.#io.complain(text)
  }

  /** Prints a value that is not an API response, as JSON or YAML, or as the text of `table`. */
  value(value: unknown, table: () => string): number {
    if (this.format === 'raw') throw localError('this command does not support the -format=raw option')
    this.line(this.isTable ? table() : this.#structured(value))
    return VAULT_EXIT.ok
  }

  /** Prints an object, or its requested field. */
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

  /** Prints a list of keys. An empty list is a failure, as in Vault. */
  keys(keys: readonly unknown[] | undefined, where: string): number {
    if (keys && keys.length > 0)
      return this.value(keys, () =>
        formatTable(
          ['Keys'],
          keys.map((key) => [goText(key)]),
        ),
      )
    if (!this.isTable) this.line('{}')
    throw remoteError(this.isTable ? `No value found at ${where}` : '')
  }

  /** Prints a single value, without a line end if a program reads it. */
  single(name: string, value: unknown): number {
    if (value === undefined) throw localError(`Field ${JSON.stringify(name)} not present in secret`)
    const text = this.isTable || this.format === 'raw' ? goText(value) : this.#structured(value)
    // A program receives the value unchanged.
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
    return YAML.stringify(plain(value), { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false }).trimEnd()
  }
}

/** Converts numbers to YAML's number types if they keep all digits. */
const plain = (value: unknown): unknown => {
  if (value instanceof RawNumber) return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text)
  if (Array.isArray(value)) return value.map(plain)
  return isMap(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)])) : value
}

/** Prints the response to LIST: the keys alone, or with the details of `key_info`. */
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
  ...(secret.auth ? [...partRows(AUTH, secret.auth), ...metadataRows(secret.auth)] : []),
  ...(secret.wrapInfo ? partRows(WRAP, secret.wrapInfo).map(([name, ...cells]) => [`${name}:`, ...cells]) : []),
  ...(secret.data ? dataRows(secret.data) : []),
]

export const dataRows = (data: JsonMap): Row[] =>
  Object.keys(data)
    .sort()
    .map((key) => [key, dataText(key, data[key])])

/** Returns the lease rows. Without a lease, only the cache duration of the response is shown. */
const leaseRows = ({ leaseId, leaseDuration, isRenewable }: Secret): Row[] => {
  if (Number(goText(leaseDuration)) <= 0) return []
  if (leaseId === '') return [['refresh_interval', goDuration(leaseDuration)]]
  return [
    ['lease_id', leaseId],
    ['lease_duration', goDuration(leaseDuration)],
    ['lease_renewable', String(isRenewable)],
  ]
}

/** Formats the lifetime of a token. A token without an expiry has the lifetime `∞`. */
const lifetime = (seconds: unknown): string => (Number(goText(seconds ?? 0)) === 0 ? '∞' : goDuration(seconds))

/** One value of a part of the envelope: its name in tables and for `-field`, its key in the part, and its format. */
type PartRow = readonly [name: string, key: string, format: (value: unknown) => string]

const AUTH: readonly PartRow[] = [
  ['token', 'client_token', textOf],
  ['token_accessor', 'accessor', textOf],
  ['token_duration', 'lease_duration', lifetime],
  ['token_renewable', 'renewable', (value) => String(value === true)],
  ['token_policies', 'token_policies', goQuotedList],
  ['identity_policies', 'identity_policies', goQuotedList],
  ['policies', 'policies', goQuotedList],
]

const WRAP: readonly PartRow[] = [
  ['wrapping_token', 'token', textOf],
  ['wrapping_accessor', 'accessor', textOf],
  ['wrapping_token_ttl', 'ttl', goDuration],
  ['wrapping_token_creation_time', 'creation_time', textOf],
  ['wrapping_token_creation_path', 'creation_path', textOf],
  ['wrapped_accessor', 'wrapped_accessor', textOf],
]

/** Returns the rows of a part. The accessor of a wrapped token is omitted if there is none. */
const partRows = (rows: readonly PartRow[], part: JsonMap): Row[] =>
  rows
    .filter(([name]) => name !== 'wrapped_accessor' || part[name])
    .map(([name, key, format]) => [name, format(part[key])])

const metadataRows = (auth: JsonMap): Row[] =>
  Object.entries((auth.metadata ?? {}) as JsonMap)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => [`token_meta_${key}`, goText(value)])

const partFields = (rows: readonly PartRow[], part: JsonMap | undefined): JsonMap =>
  Object.fromEntries(part ? rows.map(([name, key]) => [name, part[key]]) : [])

/**
 * Returns the field that `-field` names; undefined if the response has none. A field of the data takes precedence over
 * a part of the envelope.
 */
const findField = ({ data, auth, wrapInfo, leaseId, ...rest }: Secret, name: string): unknown => {
  const fields: JsonMap = {
    data,
    ...partFields(AUTH, auth && { identity_policies: [], ...auth }),
    ...partFields(WRAP, wrapInfo),
    refresh_interval: rest.leaseDuration,
    lease_id: leaseId || undefined,
    lease_duration: rest.leaseDuration,
    lease_renewable: rest.isRenewable,
    ...data,
  }
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** Returns the envelope with its keys in Vault's order. */
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
