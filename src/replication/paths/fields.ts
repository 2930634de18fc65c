import type { Values } from '../../logical/fields.js'
import { bool, commaList, string } from '../../logical/fields.js'
import type { JoinFields } from '../roles/join.js'

/** The parameters of the replication endpoints. */

export const CLUSTER_ADDR_FIELDS = {
  primary_cluster_addr: string('Address of the cluster port that secondaries are told instead of the configured one.'),
} as const

export const SECONDARY_ID_FIELDS = {
  id: string('Opaque identifier of the secondary, by which it can be revoked later.', '', { isRequired: true }),
} as const

export const SECONDARY_TOKEN_FIELDS = {
  ...SECONDARY_ID_FIELDS,
  ttl: string('How long the activation token is good for.', '30m'),
  secondary_public_key: string('Public key of the secondary, in base64, to encrypt the credentials for.'),
} as const

export const JOIN_FIELDS = {
  token: string('Activation token of the primary.', '', { isSecret: true }),
  primary_api_addr: string('Address of the primary API, instead of the one in the token.'),
  ca_file: string('Path of a PEM file with the roots that the primary API is verified with.'),
  ca_path: string('Path of a directory of such files.'),
  ca_cert: string('The roots themselves, in PEM.'),
  client_cert_pem: string('Client certificate for the primary API, in PEM.'),
  client_key_pem: string('Key of the client certificate, in PEM.', '', { isSecret: true }),
} as const

export const UPDATE_PRIMARY_FIELDS = {
  ...JOIN_FIELDS,
  update_primary_addrs: commaList('Cluster addresses to look for the primary at, with the credentials in place.'),
} as const

export const PROMOTE_FIELDS = {
  ...CLUSTER_ADDR_FIELDS,
  force: bool('Promote although checks say that something may be lost.'),
} as const

export const RECOVER_FIELDS = {
  force: bool('Follow a primary again that was put back in time, and give up what only this cluster has.'),
} as const

export const REINDEX_FIELDS = {
  diff: bool('Compare key by key first, and log what differs.'),
  force: bool('Follow a primary again that was put back in time, and give up what only this cluster has.'),
  skip_flush: bool('Leave the rebuilt trees to be written later.'),
} as const

export const OPERATION_TOKEN_FIELDS = {
  dr_operation_token: string('Operation token that authorises the call.', '', { isSecret: true }),
} as const

export const FILTER_ID_FIELDS = {
  id: string('Id of the secondary.'),
} as const

export const FILTER_FIELDS = {
  ...FILTER_ID_FIELDS,
  mode: string('allow or deny.', 'allow'),
  paths: commaList('Paths of mounts and namespaces.'),
} as const

export const toJoinFields = (values: Values<typeof JOIN_FIELDS>): JoinFields => ({
  token: values.token,
  primaryApiAddr: values.primary_api_addr,
  caFile: values.ca_file,
  caPath: values.ca_path,
  caCert: values.ca_cert,
  clientCertPem: values.client_cert_pem,
  clientKeyPem: values.client_key_pem,
})
