/** An envelope as rows of a table, as fields by name, and as JSON. */
import { type JsonMap, type Secret, sortKeys, textOf } from './model.js'
import { dataText, goDuration, goQuotedList, goText, type Row } from './text.js'

export const secretRows = (secret: Secret): Row[] => [
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

/** Formats the lifetime of a token. One without an expiry lasts forever. */
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
export const findField = ({ data, auth, wrapInfo, leaseId, ...rest }: Secret, name: string): unknown => {
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
export const secretJson = (secret: Secret): JsonMap => ({
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
