import { counted } from '../../../base/counted.js'
import { textOfJson } from '../../../base/json-print.js'
import { readNamedFile } from '../../../base/named-file.js'
import { ROOT } from '../api.js'
import { command } from '../command.js'
import { flag, type FlagValues } from '../flags.js'
import { CliError, type JsonMap, localError, locally } from '../model.js'
import { readSealStatus } from './seal.js'

const INIT_FLAGS = {
  'key-shares': flag.int('Number of key shares.', { aliases: ['n'] }),
  'key-threshold': flag.int('Number of key shares that unseal.', { aliases: ['t'] }),
  'recovery-shares': flag.int('Number of recovery key shares; only with auto-unseal.'),
  'recovery-threshold': flag.int('Number of recovery key shares that are required.'),
  'pgp-keys': flag.list('Files with public keys, one for each key share.'),
  'recovery-pgp-keys': flag.list('Files with public keys, one for each recovery key share.'),
  'root-token-pgp-key': flag.text('File with the public key for the root token.'),
  'stored-shares': flag.int('Accepted without effect.'),
  status: flag.bool('Only check whether the server is initialized: exit code 0 if it is, 2 if not.'),
} as const

const SHARES = 5
const THRESHOLD = 3
const NOT_INITIALIZED = 2

export const initCommand = command(
  'operator init',
  'Initialize a server: generate key shares and a root token',
  INIT_FLAGS,
  async (session) => {
    const { api, out, flags } = session
    if (flags.status) {
      const { body } = await api.request('Error checking initialization status', 'GET', 'sys/init', ROOT)
      if (body.initialized !== true) throw new CliError(NOT_INITIALIZED, 'Vault is not initialized')
      out.line('Vault is initialized')
      return 0
    }
    const isAuto = (await readSealStatus(session)).recovery_seal === true
    const request = initBody(flags, isAuto)
    const { body } = await api.request('Error initializing', 'PUT', 'sys/init', { body: request, ...ROOT })
    const keys = keyReport(body, request, isAuto)
    return out.record(keys, () => describeKeys(keys))
  },
)

type InitBody = ReturnType<typeof initBody>

/**
 * Returns the request body. The numbers of recovery key shares default to zero without auto-unseal, and the numbers of
 * unseal key shares default to zero with auto-unseal.
 */
const initBody = (flags: FlagValues<typeof INIT_FLAGS>, isAuto: boolean) => {
  const pgpKeys = readPgpKeys(flags['pgp-keys'])
  const recoveryPgpKeys = readPgpKeys(flags['recovery-pgp-keys'])
  const [rootKey = ''] = readPgpKeys(flags['root-token-pgp-key'] ? [flags['root-token-pgp-key']] : [])
  return {
    secret_shares: flags['key-shares'] ?? (isAuto ? 0 : SHARES),
    secret_threshold: flags['key-threshold'] ?? (isAuto ? 0 : THRESHOLD),
    pgp_keys: pgpKeys.length > 0 ? pgpKeys : null,
    recovery_shares: flags['recovery-shares'] ?? (isAuto ? SHARES : 0),
    recovery_threshold: flags['recovery-threshold'] ?? (isAuto ? THRESHOLD : 0),
    recovery_pgp_keys: recoveryPgpKeys.length > 0 ? recoveryPgpKeys : null,
    root_token_pgp_key: rootKey,
    stored_shares: flags['stored-shares'] ?? 0,
  }
}

const keyReport = (answer: JsonMap, request: InitBody, isAuto: boolean): JsonMap => ({
  unseal_keys_b64: answer.keys_base64 ?? [],
  unseal_keys_hex: answer.keys ?? [],
  unseal_shares: isAuto ? 0 : request.secret_shares,
  unseal_threshold: isAuto ? 0 : request.secret_threshold,
  recovery_keys_b64: answer.recovery_keys_base64 ?? [],
  recovery_keys_hex: answer.recovery_keys ?? [],
  recovery_keys_shares: isAuto ? request.recovery_shares : 0,
  recovery_keys_threshold: isAuto ? request.recovery_threshold : 0,
  root_token: answer.root_token ?? '',
})

const describeKeys = (keys: JsonMap): string => {
  const named = (name: string, title: string) =>
    [keys[name]].flat().map((key, index) => `${title} Key ${index + 1}: ${textOfJson(key)}`)
  const recovery = named('recovery_keys_b64', 'Recovery')
  const isAuto = recovery.length > 0
  const count = isAuto ? keys.recovery_keys_shares : keys.unseal_shares
  const needed = isAuto ? keys.recovery_keys_threshold : keys.unseal_threshold
  return [
    ...named('unseal_keys_b64', 'Unseal'),
    ...recovery,
    '',
    `Initial Root Token: ${textOfJson(keys.root_token)}`,
    '',
    isAuto
      ? `Success! The server is initialized with ${counted(Number(count), 'recovery key share')} (threshold ${needed}).`
      : `The server is initialized with ${counted(Number(count), 'key share')} (threshold ${needed}).`,
    'These values cannot be displayed again. Store each share separately and securely.',
  ].join('\n')
}

/**
 * Reads public keys from binary or armored files. Returns the keys in base64, as the API expects. Throws a local error
 * for an unreadable file.
 */
export const readPgpKeys = (files: readonly string[]): string[] => files.map(readPgpKey)

const readPgpKey = (name: string): string => {
  if (name.startsWith('keybase:')) throw localError('Keys from keybase.io are not supported: export the key to a file')
  const bytes = locally('The PGP key file cannot be read', () => readNamedFile(name.replace(/^@/, '')))
  const text = bytes.toString('latin1').trim()
  if (text.startsWith('-----BEGIN PGP')) return unwrapArmor(text)
  return /^[A-Za-z0-9+/\s]+=*$/.test(text) ? text.replace(/\s/g, '') : bytes.toString('base64')
}

/**
 * Returns the base64 text of an armored key without the headers, which end at an empty line, and without the checksum.
 */
const unwrapArmor = (text: string): string => {
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const start = lines.indexOf('')
  const body = lines.slice(start + 1).filter((line) => line !== '' && !line.startsWith('-----'))
  return body.filter((line) => !/^=[A-Za-z0-9+/]{4}$/.test(line)).join('')
}
