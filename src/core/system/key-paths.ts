/**
 * The paths of keys:
 *
 * - sys/rekey for unseal keys and sys/rekey-recovery-key for recovery keys, with one implementation because a seal has
 *   only one kind of keys
 * - sys/key-status and sys/rotate
 * - sys/generate-root
 */
import { decodeWithOtp } from '../../base/one-time-pad.js'
import { messageOf } from '../../base/printable.js'
import { LIMITS } from '../../base/limits.js'
import { definePath, type Handler, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, type FieldTable, int, string, stringList } from '../../logical/fields.js'
import type { Rekey } from '../seal/rekey.js'
import type { SealStorage } from '../seal/seal-records.js'
import { findBackup } from '../seal/share-input.js'
import type { SealKeys } from '../seal/seal-keys.js'
import { bare } from './backend.js'
import type { GenerationAttempt } from '../seal/generate-root.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface RekeyPathsDeps {
  readonly rekey: Rekey
  readonly storage: Pick<SealStorage, 'get' | 'delete'>
  readonly keys: Pick<SealKeys, 'isAutoUnseal'>
}

const INIT_FIELDS = {
  secret_shares: int('Number of new shares.'),
  secret_threshold: int('Number of keys that are required.'),
  pgp_keys: stringList('One PGP public key for each new share.'),
  backup: bool('Whether the cluster stores the encrypted shares.'),
  require_verification: bool('Whether the new shares must be verified before they become valid.'),
  stored_shares: int('Has no effect.', 0, { isDeprecated: true }),
} as const

const SHARE_FIELDS = {
  key: string('One key share, as hex or base64.', '', { isSecret: true }),
  nonce: string('The nonce of the operation.'),
} as const

export const rekeyPaths = (deps: RekeyPathsDeps): PathSpec[] => {
  const { keys } = deps
  return [
    ...family('rekey', 'rekey/backup', deps, () => {
      if (keys.isAutoUnseal)
        throw invalid('this cluster uses auto-unseal and has recovery keys: use rekey-recovery-key')
    }),
    ...family('rekey-recovery-key', 'rekey/recovery-key-backup', deps, () => {
      if (!keys.isAutoUnseal) throw invalid('recovery rekeying not supported')
    }),
  ]
}

/** Creates the rekey paths of one kind of keys. `guard` throws if the seal has the other kind. */
const family = (
  prefix: string,
  backupPath: string,
  { rekey, storage }: RekeyPathsDeps,
  guard: () => void,
): PathSpec[] =>
  [
    definePath(`${prefix}/init`, INIT_FIELDS, 'Start, read or cancel a rekey.', {
      read: () => bare(rekey.status()),
      update: async ({ values }) =>
        bare(
          await rekey.start({
            config: { shares: values.secret_shares, threshold: values.secret_threshold },
            pgpKeys: values.pgp_keys,
            hasBackup: values.backup,
            needsVerification: values.require_verification,
          }),
        ),
      delete: () => void rekey.cancel(),
      isOldest: true,
      openBodyBytesMax: LIMITS.keyBodyBytesMax,
    }),
    definePath(`${prefix}/update`, SHARE_FIELDS, 'Submit one current key share; the last one returns the new shares.', {
      update: async ({ values }) => bare(await rekey.update(values)),
      isOldest: true,
    }),
    definePath(`${prefix}/verify`, SHARE_FIELDS, 'Submit one new key share; the last one activates the new shares.', {
      read: () => bare(rekey.verificationStatus()),
      update: async ({ values }) => bare(await rekey.verify(values)),
      delete: () => bare(rekey.restartVerification()),
      isOldest: true,
    }),
    definePath(backupPath, {}, 'Read or delete the backup of the encrypted key shares.', {
      read: () => {
        const body = findBackup(storage)
        if (!body) throw invalid('no backed-up keys found')
        return bare(body)
      },
      delete: async () => void (await storage.delete(KEYS.sharesBackup)),
    }),
  ].map((spec) => guarded(spec, guard))

const guarded = (spec: PathSpec, guard: () => void): PathSpec => {
  const operations = Object.entries(spec.operations).map(([name, handle]): [string, Handler<FieldTable>] => [
    name,
    (call) => {
      guard()
      return handle(call)
    },
  ])
  return { ...spec, operations: Object.fromEntries(operations) }
}

interface KeyringControl {
  /** Returns the active term, its start in milliseconds since the epoch, and the number of values it has encrypted. */
  status(): { readonly term: number; readonly installTimeMs: number; readonly encryptions: number }
  /** Starts a new term. Rejects with LogicalError `read-only` if replicated keys are not writable. */
  rotate(): Promise<void>
}

export const keyringPaths = (keyring: KeyringControl): PathSpec[] => [
  definePath('key-status', {}, 'Read the state of the encryption key.', {
    read: () => {
      const { term, installTimeMs, encryptions } = keyring.status()
      return { data: { term, install_time: new Date(installTimeMs).toISOString(), encryptions } }
    },
    mirror: true,
  }),
  definePath('rotate', {}, 'Rotate the encryption key.', {
    update: async () => void (await keyring.rotate()),
    mirror: true,
  }),
]

/** The original path, and the path that newer clients try first. */
const PREFIXES = ['generate-root', 'generate-root-token'] as const

const START_FIELDS = {
  otp: string('One-time password (OTP) of the caller, with the length `otp_length`.', '', { isSecret: true }),
  pgp_key: string('PGP public key that encrypts the token, instead of an OTP.'),
} as const

const UPDATE_FIELDS = { ...SHARE_FIELDS, nonce: string('The nonce of the attempt.') } as const

const attemptPaths = (prefix: string, attempt: GenerationAttempt): PathSpec[] => [
  definePath(`${prefix}/attempt`, START_FIELDS, 'Start, read or cancel the generation of a root token.', {
    read: () => bare(attempt.status()),
    update: async ({ values }) => bare(await attempt.start({ otp: values.otp, pgpKey: values.pgp_key })),
    delete: () => void attempt.cancel(),
    isOldest: true,
    openBodyBytesMax: LIMITS.keyBodyBytesMax,
  }),
  definePath(`${prefix}/update`, UPDATE_FIELDS, 'Submit one key share; the last one returns the encoded token.', {
    // A read contains no key, so its response is the error for a missing key.
    read: async () => bare(await attempt.update({ key: '', nonce: '' })),
    update: async ({ values }) => bare(await attempt.update(values)),
    isOldest: true,
  }),
]

export const generateRootPaths = (attempt: GenerationAttempt): PathSpec[] =>
  PREFIXES.flatMap((prefix) => attemptPaths(prefix, attempt))

const DECODE_FIELDS = {
  encoded_token: string('The result of sys/generate-root.', '', { isRequired: true }),
  otp: string('The one-time password of sys/generate-root.', '', { isRequired: true, isSecret: true }),
} as const

export const decodeTokenPath: PathSpec = definePath('decode-token', DECODE_FIELDS, 'Decode a generated root token.', {
  update: ({ values: { encoded_token: encoded, otp } }) => {
    if (encoded === '' || otp === '') throw invalid("provided 'encoded_token' or 'otp' is empty")
    try {
      return { data: { token: decodeWithOtp(encoded, otp) } }
    } catch (error) {
      throw invalid(messageOf(error))
    }
  },
})
