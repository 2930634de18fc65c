import { bool, commaList, string } from '../../logical/fields.js'
import { JOIN_FIELDS } from '../roles/join.js'

export const CLUSTER_ADDR_FIELDS = {
  primary_cluster_addr: string('Cluster address that secondaries use. Default: the configured cluster address.'),
} as const

export const SECONDARY_ID_FIELDS = {
  id: string('ID of the secondary. Use the same ID to revoke the secondary.', '', { isRequired: true }),
} as const

export const SECONDARY_TOKEN_FIELDS = {
  ...SECONDARY_ID_FIELDS,
  ttl: string('TTL of the activation token.', '30m'),
  secondary_public_key: string('Public key of the secondary in base64, which encrypts the credentials.'),
} as const

export const UPDATE_PRIMARY_FIELDS = {
  ...JOIN_FIELDS,
  update_primary_addrs: commaList('Cluster addresses of the primary, for use with the existing credentials.'),
} as const

export const PROMOTE_FIELDS = {
  ...CLUSTER_ADDR_FIELDS,
  force: bool('Promotes even if data may be lost.'),
} as const

export const RECOVER_FIELDS = {
  force: bool('Follows a primary that was restored to an earlier state. Discards the data that only this cluster has.'),
} as const

export const REINDEX_FIELDS = {
  diff: bool('Compares key by key first, and logs the differences.'),
  force: bool('Follows a primary that was restored to an earlier state. Discards the data that only this cluster has.'),
  skip_flush: bool('Writes the rebuilt trees to disk later.'),
} as const

export const OPERATION_TOKEN_FIELDS = {
  dr_operation_token: string('Operation token that authorizes the request.', '', { isSecret: true }),
} as const

export const FILTER_ID_FIELDS = {
  id: string('ID of the secondary.'),
} as const

export const FILTER_FIELDS = {
  ...FILTER_ID_FIELDS,
  mode: string('Mode of the filter: allow or deny.', 'allow'),
  paths: commaList('Paths of mounts and namespaces.'),
} as const
