import { LIMITS } from '../../base/limits.js'
import type { PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { int, string, stringList, type Values } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import { findSealConfigProblem, type SealConfig } from '../../seal/config.js'
import type { SealManager } from '../seal/seal-manager.js'
import { encryptShares, requirePgpKeys, toBase64, toHex } from '../seal/share-input.js'
import { bare, oldPath } from './backend.js'

const INIT_FIELDS = {
  secret_shares: int('Number of unseal keys.'),
  secret_threshold: int('Number of unseal keys that unseal the server.'),
  pgp_keys: stringList('One PGP public key for each unseal key.'),
  recovery_shares: int('Number of recovery keys, for auto-unseal.'),
  recovery_threshold: int('Number of recovery keys that are required.'),
  recovery_pgp_keys: stringList('One PGP public key for each recovery key.'),
  root_token_pgp_key: string('PGP public key for the root token.'),
  stored_shares: int('Has no effect.', 0, { isDeprecated: true }),
} as const

type InitValues = Values<typeof INIT_FIELDS>

/** The parameters of unseal keys and of recovery keys. A seal uses only one kind of keys. */
const SETS = {
  unseal: ['secret_shares', 'secret_threshold', 'pgp_keys'],
  recovery: ['recovery_shares', 'recovery_threshold', 'recovery_pgp_keys'],
} as const

export const ALREADY_INITIALIZED = 'Vault is already initialized'

export type Initializer = Pick<SealManager, 'isInitialized' | 'keys' | 'initialize'>

export const initPaths = (seal: Initializer): PathSpec[] => [
  oldPath('init', INIT_FIELDS, 'Read whether the server is initialized, or initialize it.', {
    read: () => bare({ initialized: seal.isInitialized }),
    update: async ({ values }) => bare(await initialize(seal, values)),
    openBodyBytesMax: LIMITS.keyBodyBytesMax,
  }),
]

const initialize = async (seal: Initializer, values: InitValues): Promise<JsonObject> => {
  if (seal.isInitialized) throw invalid(ALREADY_INITIALIZED)
  const { isAutoUnseal, type } = seal.keys
  refuseForeign(values, isAutoUnseal ? SETS.unseal : SETS.recovery, type)
  const config: SealConfig = isAutoUnseal
    ? { shares: values.recovery_shares, threshold: values.recovery_threshold }
    : { shares: values.secret_shares, threshold: values.secret_threshold }
  const texts = isAutoUnseal ? values.recovery_pgp_keys : values.pgp_keys
  const problem = findSealConfigProblem(config) ?? findPgpProblem(config, texts)
  if (problem !== undefined) throw invalid(`invalid ${isAutoUnseal ? 'recovery' : 'seal'} configuration: ${problem}`)
  const pgpKeys = await requirePgpKeys(texts)
  const [tokenKey] = await requirePgpKeys(values.root_token_pgp_key === '' ? [] : [values.root_token_pgp_key])
  return seal.initialize(config, async ({ shares, rootToken }) => {
    const handedOut = await encryptShares(shares, pgpKeys)
    const keys = { keys: toHex(handedOut), keys_base64: toBase64(handedOut) }
    const token = tokenKey ? (await tokenKey.encrypt(Buffer.from(rootToken))).toString('base64') : rootToken
    if (!isAutoUnseal) return { ...keys, root_token: token }
    const recovery = { recovery_keys: keys.keys, recovery_keys_base64: keys.keys_base64 }
    return { keys: [], keys_base64: [], ...recovery, root_token: token }
  })
}

const refuseForeign = (values: InitValues, names: readonly (keyof InitValues)[], sealType: string): void => {
  const given = names.filter((name) => {
    const value = values[name]
    return typeof value === 'object' ? value.length > 0 : value !== 0
  })
  if (given.length > 0) throw invalid(`parameters ${given.join(',')} not applicable to seal type ${sealType}`)
}

const findPgpProblem = ({ shares }: SealConfig, pgpKeys: readonly string[]): string | undefined =>
  pgpKeys.length > 0 && pgpKeys.length !== shares
    ? 'count mismatch between number of provided PGP keys and number of shares'
    : undefined
