/** The fields of a request for a SecretID, and their validation against the limits of the role. */
import { lifeMs, wholeSeconds } from '../../base/duration.js'
import { formatTime, ZERO_TIME } from '../../base/rfc3339.js'
import type { Call } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { commaList, duration, int, string } from '../../logical/fields.js'
import { checkBlocks, checkSubset } from './cidr-rules.js'
import { parseMetadata } from './metadata.js'
import { type Role, ROLE_NAME_FIELD } from './roles.js'
import type { SecretId } from './secret-id-records.js'

export const GENERATE_FIELDS = {
  ...ROLE_NAME_FIELD,
  metadata: string('Metadata of the tokens, as the text of a JSON object. Audit logs show it in plain text.'),
  cidr_list: commaList("CIDR blocks from which the SecretID can be used; a subset of the role's blocks."),
  token_bound_cidrs: commaList("CIDR blocks from which the tokens can be used; a subset of the role's blocks."),
  num_uses: int('Number of uses of the SecretID; at most the number of the role.'),
  ttl: duration('TTL of the SecretID; at most the TTL of the role.'),
} as const

export const CUSTOM_FIELDS = {
  ...GENERATE_FIELDS,
  secret_id: string('The custom SecretID.', '', { isSecret: true, isRequired: true }),
} as const

export type GenerateCall = Pick<Call<typeof GENERATE_FIELDS>, 'values' | 'supplied'>

/** Values of a new SecretID that its request does not contain. */
interface SecretIdInputs {
  readonly accessor: string
  readonly nowMs: number
  readonly maxLeaseTtlSeconds: number
}

/** Builds the record of a new SecretID. Throws LogicalError 400 if a field violates a limit of the role. */
export const decideSecretId = (call: GenerateCall, role: Role, inputs: SecretIdInputs): SecretId => {
  const { cidr_list: cidrList, token_bound_cidrs: tokenBoundCidrs, metadata } = call.values
  if (!role.bindSecretId) throw invalid('bind_secret_id is not set on the role')
  checkBlocks(cidrList, 'CIDR blocks')
  checkSubset(role.secretIdBoundCidrs ?? [], cidrList)
  checkBlocks(tokenBoundCidrs, 'token CIDR blocks')
  checkSubset(role.token.boundCidrs ?? [], tokenBoundCidrs)
  const numUses = decideNumUses(call, role)
  const ttlSeconds = decideTtlSeconds(call, role)
  const { accessor, nowMs, maxLeaseTtlSeconds } = inputs
  return {
    role: role.name,
    accessor,
    numUses,
    ttlSeconds,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: ttlSeconds === 0 ? null : nowMs + lifeMs(effectiveTtlSeconds(ttlSeconds, maxLeaseTtlSeconds)),
    metadata: parseMetadata(metadata),
    cidrList,
    tokenBoundCidrs,
  }
}

/** Returns the TTL, but at most the maximum of the mount. A TTL of 0, which means no expiry, stays 0. */
export const effectiveTtlSeconds = (ttlSeconds: number, maxLeaseTtlSeconds: number): number =>
  Math.min(ttlSeconds, maxLeaseTtlSeconds)

const decideNumUses = ({ values, supplied }: GenerateCall, { secretIdNumUses }: Role): number => {
  if (!supplied('num_uses')) return secretIdNumUses
  if (values.num_uses < 0) throw invalid('num_uses cannot be negative')
  if (exceeds(values.num_uses, secretIdNumUses)) {
    throw invalid("num_uses cannot be higher than the role's secret_id_num_uses")
  }
  return values.num_uses
}

const decideTtlSeconds = ({ values, supplied }: GenerateCall, { secretIdTtlSeconds }: Role): number => {
  if (!supplied('ttl')) return secretIdTtlSeconds
  if (exceeds(values.ttl, secretIdTtlSeconds)) throw invalid("ttl cannot be longer than the role's secret_id_ttl")
  return values.ttl
}

/** Returns true if `asked` exceeds `limit`. 0 means unlimited for both. */
const exceeds = (asked: number, limit: number): boolean => limit > 0 && (asked === 0 || asked > limit)

/** Returns the data of a lookup response, without the SecretID and its role. */
export const secretIdData = (record: SecretId): Record<string, unknown> => ({
  cidr_list: record.cidrList,
  creation_time: formatTime(record.createdAtMs),
  expiration_time: record.expiresAtMs === null ? ZERO_TIME : formatTime(record.expiresAtMs),
  last_updated_time: formatTime(record.updatedAtMs),
  metadata: record.metadata,
  secret_id_accessor: record.accessor,
  secret_id_num_uses: record.numUses,
  secret_id_ttl: wholeSeconds(record.ttlSeconds),
  token_bound_cidrs: record.tokenBoundCidrs,
})
