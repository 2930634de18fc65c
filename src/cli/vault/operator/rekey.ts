/** The command operator rekey: replaces the unseal or recovery key shares. Requires the current shares. */
import { textsOfJson } from '../../../base/json-print.js'
import { ROOT } from '../api.js'
import { type Call, command } from '../command.js'
import { flag } from '../flags.js'
import { type JsonMap, localError, textOf } from '../model.js'
import { formatPairs, goText, presentRows, type Row, wrapIndented } from '../text.js'
import { readPgpKeys } from './init.js'
import { provideShare } from './seal.js'

const FLAGS = {
  init: flag.bool('Start a rekey.'),
  cancel: flag.bool('Cancel the rekey; with -verify, only restart its verification.'),
  status: flag.bool('Print the progress of the rekey; with -verify, of its verification.'),
  verify: flag.bool(
    'With -init: require verification of the new shares before they become valid. Otherwise: submit a new share.',
  ),
  'key-shares': flag.int('Number of new shares.', { aliases: ['n'], fallback: '5' }),
  'key-threshold': flag.int('Number of new shares that are required.', { aliases: ['t'], fallback: '3' }),
  nonce: flag.text('Nonce of the rekey, or of its verification.'),
  'pgp-keys': flag.list('Files with public keys, one for each new share.'),
  target: flag.text('barrier for the unseal shares, recovery for the recovery shares of auto-unseal.', {
    fallback: 'barrier',
  }),
  backup: flag.bool('Also store the encrypted new shares in the cluster; requires -pgp-keys.'),
  'backup-retrieve': flag.bool('Print the stored encrypted shares.'),
  'backup-delete': flag.bool('Delete the stored encrypted shares.'),
} as const

type RekeyCall = Call<typeof FLAGS>

/**
 * The API paths of a target. `init`, `update` and `verify` are below `base`. `key` is the name of a share in prompts.
 */
const BARRIER = { base: 'sys/rekey', backup: 'sys/rekey/backup', key: 'Unseal Key' }
const RECOVERY = { base: 'sys/rekey-recovery-key', backup: 'sys/rekey/recovery-key-backup', key: 'Recovery Key' }
const TARGETS = new Map([
  ['barrier', BARRIER],
  ['recovery', RECOVERY],
  ['hsm', RECOVERY],
])
type Target = typeof BARRIER

export const rekeyCommand = command(
  'operator rekey [KEY]',
  'Replace the key shares (requires the current shares)',
  FLAGS,
  async (call) => {
    const { flags } = call
    const target = TARGETS.get(flags.target.trim().toLowerCase())
    if (!target) throw localError(`Unknown target: ${flags.target}: use barrier or recovery`)
    if (flags['backup-delete']) return deleteBackup(call, target)
    if (flags['backup-retrieve']) return retrieveBackup(call, target)
    if (flags.cancel) return cancel(call, target)
    if (flags.status) return print(call, await readStatus(call, target))
    return flags.init ? start(call, target) : provide(call, target)
  },
)

const start = async (call: RekeyCall, { base }: Target): Promise<number> => {
  const { api, flags, out } = call
  const pgpKeys = readPgpKeys(flags['pgp-keys'])
  const body = {
    secret_shares: flags['key-shares'],
    secret_threshold: flags['key-threshold'],
    ...(pgpKeys.length > 0 && { pgp_keys: pgpKeys }),
    backup: flags.backup,
    require_verification: flags.verify,
  }
  const reply = await api.request('Error initializing rekey', 'PUT', `${base}/init`, { body, ...ROOT })
  if (out.isTable) for (const text of cautions(flags)) out.note(`${wrapIndented(`WARNING! ${text}`)}\n`)
  return out.record(reply.body, () => formatPairs(attemptRows(reply.body)))
}

const cautions = (flags: RekeyCall['flags']): string[] => {
  if (flags['pgp-keys'].length === 0) return ['The new keys are shown only once. To encrypt them, use -pgp-keys.']
  if (flags.backup) return []
  return ['The new keys are encrypted and shown once. To store a copy in the cluster, use -backup.']
}

const cancel = async ({ api, flags, out }: RekeyCall, { base }: Target): Promise<number> => {
  const [path, noun] = flags.verify ? ['verify', 'rekeying verification'] : ['init', 'rekeying']
  await api.request(`Error canceling ${noun}`, 'DELETE', `${base}/${path}`, ROOT)
  return out.success(`Canceled ${noun} (if it was started)`)
}

/** Reads the progress of the rekey, or of its verification with -verify. */
const readStatus = async ({ api, flags }: RekeyCall, { base }: Target): Promise<JsonMap> => {
  const [path, noun] = flags.verify ? ['verify', 'rekey verification'] : ['init', 'rekey']
  return (await api.request(`Error getting ${noun} status`, 'GET', `${base}/${path}`, ROOT)).body
}

/**
 * Submits one share to the current rekey, or to its verification with -verify. Prints the progress or the result.
 * Rejects with a local error if none is in progress.
 */
const provide = async (call: RekeyCall, target: Target): Promise<number> => {
  const { verify } = call.flags
  const status = await readStatus(call, target)
  if (status.started !== true) {
    throw localError(
      verify
        ? 'No rekey is waiting for verification: start one with -init -verify'
        : 'No rekey is in progress: start one with -init',
    )
  }
  const titles = { nonce: verify ? 'Rekey verification nonce' : 'Rekey operation nonce', key: target.key }
  const body = await provideShare(call, `${target.base}/${verify ? 'verify' : 'update'}`, status, titles)
  if (body.complete !== true) return print(call, body)
  if (!verify) return printKeys(call, body, status)
  const text = 'Success! Rekey verification is complete: the new key shares are now valid.'
  return call.out.record(body, () => text)
}

const printKeys = ({ out }: RekeyCall, body: JsonMap, status: JsonMap): number => {
  const fingerprints = textsOfJson(body.pgp_fingerprints)
  const lines = textsOfJson(body.keys_base64 ?? body.keys).map((key, index) => {
    const fingerprint = fingerprints[index]
    return fingerprint === undefined
      ? `Key ${index + 1}: ${key}`
      : `Key ${index + 1} fingerprint: ${fingerprint}; value: ${key}`
  })
  return out.record(body, () =>
    [...lines, '', `Operation nonce: ${textOf(body.nonce)}`, ...afterwards(body, status)].join('\n'),
  )
}

const afterwards = (body: JsonMap, { n, t }: JsonMap): string[] => {
  const newShares = `${goText(n)} new key shares (threshold ${goText(t)})`
  const backupText =
    'The cluster stores the encrypted shares: -backup-retrieve prints them, -backup-delete deletes them.'
  const texts =
    body.verification_required === true
      ? [
          `There are ${newShares}. They become valid when enough of them are submitted with -verify. Until then, the old shares are valid.`,
          `Verification nonce: ${textOf(body.verification_nonce)}`,
        ]
      : [
          `Success! There are ${newShares}, and the old shares are invalid. The new shares cannot be displayed again: store each of them separately.`,
        ]
  return [...(body.backup === true ? [backupText] : []), ...texts].flatMap((text) => ['', wrapIndented(text)])
}

const retrieveBackup = async ({ api, out }: RekeyCall, { backup }: Target): Promise<number> => {
  const { secret } = await api.request('Error retrieving rekey stored keys', 'GET', backup, ROOT)
  if (!secret) throw localError('No keys are stored')
  return out.secret(secret)
}

const deleteBackup = async ({ api, out }: RekeyCall, { backup }: Target): Promise<number> => {
  await api.request('Error deleting rekey stored keys', 'DELETE', backup, ROOT)
  return out.success('Deleted the stored keys (if there were any)')
}

/** Prints the progress of the rekey, or of its verification with -verify. */
const print = ({ out, flags }: RekeyCall, body: JsonMap): number =>
  out.record(body, () => formatPairs(flags.verify ? verificationRows(body) : attemptRows(body)))

const attemptRows = (status: JsonMap): Row[] => {
  const isProvided = status.progress === status.required || textOf(status.verification_nonce) !== ''
  const progress = `${goText(status.progress)}/${goText(status.required)}`
  const started: Row[] = [
    ['Rekey Progress', isProvided ? `${progress} (verification in progress)` : progress],
    ['New Shares', goText(status.n)],
    ['New Threshold', goText(status.t)],
    ['Verification Required', goText(status.verification_required)],
    ...presentRows(status, { verification_nonce: 'Verification Nonce' }),
  ]
  const fingerprints = textsOfJson(status.pgp_fingerprints)
  return [
    ['Nonce', textOf(status.nonce)],
    ['Started', goText(status.started)],
    ...(status.started === true ? started : []),
    ...(fingerprints.length > 0
      ? [
          ['PGP Fingerprints', goText(fingerprints)],
          ['Backup', goText(status.backup)],
        ]
      : []),
  ]
}

const verificationRows = (status: JsonMap): Row[] => [
  ['Started', goText(status.started)],
  ['New Shares', goText(status.n)],
  ['New Threshold', goText(status.t)],
  ['Verification Nonce', textOf(status.nonce)],
  ['Verification Progress', `${goText(status.progress)}/${goText(status.t)}`],
]
