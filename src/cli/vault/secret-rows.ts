/** An envelope as rows of a table, as fields that can be asked for by name, and as JSON. */
import { type JsonMap, type Secret, sortKeys, textOf } from './model.js'
import { dataText, goDuration, goQuotedList, goText, type Row } from './text.js'

export const secretRows = (secret: Secret): Row[] => [
  ...leaseRows(secret),
  ...(secret.auth ? authRows(secret.auth) : []),
  ...(secret.wrapInfo ? wrapRows(secret.wrapInfo) : []),
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

const authRows = (auth: JsonMap): Row[] => [
  ['token', textOf(auth.client_token)],
  ['token_accessor', textOf(auth.accessor)],
  ['token_duration', lifetime(auth)],
  ['token_renewable', String(auth.renewable === true)],
  ['token_policies', goQuotedList(auth.token_policies)],
  ['identity_policies', goQuotedList(auth.identity_policies)],
  ['policies', goQuotedList(auth.policies)],
  ...Object.entries((auth.metadata ?? {}) as JsonMap)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => [`token_meta_${key}`, goText(value)]),
]

/** Formats the lifetime of a token. One without an expiry lasts forever. */
const lifetime = ({ lease_duration: seconds }: JsonMap): string =>
  Number(goText(seconds ?? 0)) === 0 ? '∞' : goDuration(seconds)

const wrapRows = (info: JsonMap): Row[] => [
  ['wrapping_token:', textOf(info.token)],
  ['wrapping_accessor:', textOf(info.accessor)],
  ['wrapping_token_ttl:', goDuration(info.ttl)],
  ['wrapping_token_creation_time:', textOf(info.creation_time)],
  ['wrapping_token_creation_path:', textOf(info.creation_path)],
  ...(info.wrapped_accessor ? [['wrapped_accessor:', textOf(info.wrapped_accessor)]] : []),
]

/** Names that `-field` accepts in addition to those of the data. */
const FIELDS: Readonly<Record<string, (secret: Secret) => unknown>> = {
  data: ({ data }) => data,
  token: ({ auth }) => auth?.client_token,
  token_accessor: ({ auth }) => auth?.accessor,
  token_duration: ({ auth }) => auth?.lease_duration,
  token_renewable: ({ auth }) => auth?.renewable,
  token_policies: ({ auth }) => auth?.token_policies,
  identity_policies: ({ auth }) => auth?.identity_policies,
  policies: ({ auth }) => auth?.policies,
  wrapping_token: ({ wrapInfo }) => wrapInfo?.token,
  wrapping_accessor: ({ wrapInfo }) => wrapInfo?.accessor,
  wrapping_token_ttl: ({ wrapInfo }) => wrapInfo?.ttl,
  wrapping_token_creation_time: ({ wrapInfo }) => wrapInfo?.creation_time,
  wrapping_token_creation_path: ({ wrapInfo }) => wrapInfo?.creation_path,
  wrapped_accessor: ({ wrapInfo }) => wrapInfo?.wrapped_accessor,
  refresh_interval: ({ leaseDuration }) => leaseDuration,
  lease_id: ({ leaseId }) => leaseId || undefined,
  lease_duration: ({ leaseDuration }) => leaseDuration,
  lease_renewable: ({ isRenewable }) => isRenewable,
}

/**
 * Returns undefined if the response has no such field. A field of the data takes precedence over a part of the
 * envelope.
 */
export const findField = (secret: Secret, name: string): unknown => {
  const own = secret.data && Object.hasOwn(secret.data, name) ? secret.data[name] : undefined
  const isOfEnvelope = Object.hasOwn(FIELDS, name)
  const found = own !== undefined || !isOfEnvelope ? own : FIELDS[name]?.(secret)
  return found === undefined && isOfEnvelope && secret.auth && name === 'identity_policies' ? [] : found
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
