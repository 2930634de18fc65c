/** Generation of root tokens with key shares. */
import { LIMITS } from '../../base/limits.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { string } from '../../logical/fields.js'
import type { GenerationAttempt } from '../seal/generate-root.js'
import { bare } from './bare.js'

/** The original name, and the one that newer clients try first. */
const PREFIXES = ['generate-root', 'generate-root-token'] as const

const START_FIELDS = {
  otp: string('One-time pad of the caller; as long as `otp_length` says.', '', { isSecret: true }),
  pgp_key: string('Public key to encrypt the token for, in place of a one-time pad.'),
} as const

const UPDATE_FIELDS = {
  key: string('One key share, as hex or base64.', '', { isSecret: true }),
  nonce: string('The nonce of the attempt.'),
} as const

const attemptPaths = (prefix: string, attempt: GenerationAttempt): PathSpec[] => [
  definePath({
    pattern: `${prefix}/attempt`,
    isOldest: true,
    fields: START_FIELDS,
    openBodyBytesMax: LIMITS.keyBodyBytesMax,
    summary: 'Starts, shows and cancels the making of a token from key shares.',
    operations: {
      read: () => bare(attempt.status()),
      update: async ({ values }) => bare(await attempt.start({ otp: values.otp, pgpKey: values.pgp_key })),
      delete: () => {
        attempt.cancel()
        return undefined
      },
    },
  }),
  definePath({
    pattern: `${prefix}/update`,
    isOldest: true,
    fields: UPDATE_FIELDS,
    summary: 'Takes one key share in; the last one needed answers with the encoded token.',
    operations: {
      // A read has no key, so it returns the error for a missing key.
      read: async () => bare(await attempt.update({ key: '', nonce: '' })),
      update: async ({ values }) => bare(await attempt.update({ key: values.key, nonce: values.nonce })),
    },
  }),
]

export const generateRootPaths = (attempt: GenerationAttempt): PathSpec[] =>
  PREFIXES.flatMap((prefix) => attemptPaths(prefix, attempt))
