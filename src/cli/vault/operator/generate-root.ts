/** The command operator generate-root: generates a root token from key shares, or an operation token with -dr-token. */
import { base62 } from '../../../base/id.js'
import { decodeWithOtp } from '../../../base/one-time-pad.js'
import { ROOT } from '../api.js'
import { type Call, command } from '../command.js'
import { flag } from '../flags.js'
import { type JsonMap, localError, textOf } from '../model.js'
import { formatColumns, goText, presentRows, type Row } from '../text.js'
import { readText } from '../values.js'
import { readPgpKeys } from './init.js'
import { provideShare } from './seal.js'

const FLAGS = {
  init: flag.bool('Start an attempt.'),
  cancel: flag.bool('Cancel the attempt.'),
  status: flag.bool('Print the progress of the attempt.'),
  decode: flag.text('Decode this token with -otp and print it.'),
  'generate-otp': flag.bool('Generate and print a one-time password (OTP) for an attempt.'),
  'dr-token': flag.bool('Generate the operation token of a DR secondary.'),
  'recovery-token': flag.bool('Not supported: this server has no recovery tokens.'),
  otp: flag.text('One-time password (OTP) of the attempt.'),
  'pgp-key': flag.text('Public key file that encrypts the token.'),
  nonce: flag.text('Nonce of the attempt.'),
} as const

type RootCall = Call<typeof FLAGS>

/** Returns the API path above `attempt` and `update`. */
const basePath = ({ flags }: RootCall): string =>
  flags['dr-token'] ? 'sys/replication/dr/secondary/generate-operation-token' : 'sys/generate-root'

export const generateRootCommand = command(
  'operator generate-root [KEY]',
  'Generate a root token or a DR operation token from key shares',
  FLAGS,
  async (call) => {
    const { flags } = call
    if (flags['recovery-token']) throw localError('Recovery tokens are not supported: this server has no recovery mode')
    if (flags['generate-otp']) return generateOtp(call)
    if (flags.decode) return decode(call)
    if (flags.cancel) return cancel(call)
    if (flags.status) return print(call, await readStatus(call))
    return flags.init ? start(call) : provide(call)
  },
)

/** Sends a request to the path of the attempt. Resolves to the response body. */
const requestAttempt = async (call: RootCall, what: string, method: string, body?: JsonMap): Promise<JsonMap> =>
  (await call.api.request(what, method, `${basePath(call)}/attempt`, { ...(body && { body }), ...ROOT })).body

const readStatus = (call: RootCall): Promise<JsonMap> =>
  requestAttempt(call, 'Error getting root generation status', 'GET')

const otpLength = (status: JsonMap): number => {
  const length = Number(goText(status.otp_length ?? 0))
  if (length > 0) return length
  throw localError('The server does not report the length of the one-time password (OTP)')
}

const generateOtp = async (call: RootCall): Promise<number> =>
  printText(call, 'otp', base62(call.io.random, otpLength(await readStatus(call))))

const decode = async (call: RootCall): Promise<number> => {
  const { flags, io } = call
  if (!flags.otp) throw localError('Missing otp: specify it with -otp')
  const encoded = (await readText(flags.decode, io)).trim()
  otpLength(await readStatus(call))
  return printText(call, 'token', decodeToken(encoded, flags.otp))
}

const printText = ({ out }: RootCall, name: string, text: string): number =>
  out.isTable ? out.single(name, text) : out.record({ [name]: text }, () => text)

const start = async (call: RootCall): Promise<number> => {
  const { flags } = call
  if (flags.otp && flags['pgp-key']) throw localError('-otp cannot be combined with -pgp-key')
  const [pgpKey = ''] = readPgpKeys(flags['pgp-key'] ? [flags['pgp-key']] : [])
  const body = { otp: flags.otp, pgp_key: pgpKey }
  return print(call, await requestAttempt(call, 'Error initializing root generation', 'PUT', body))
}

const cancel = async (call: RootCall): Promise<number> => {
  await requestAttempt(call, 'Error canceling root token generation', 'DELETE')
  return call.out.success('Root token generation canceled (if it was started)')
}

/**
 * Submits one key share to the current attempt, and prints the progress. Rejects with a local error if no attempt is in
 * progress.
 */
const provide = async (call: RootCall): Promise<number> => {
  const status = await readStatus(call)
  if (status.started !== true) throw localError('No root generation is in progress: start one with -init')
  const titles = { nonce: 'Operation nonce', key: 'Unseal Key' }
  return print(call, await provideShare(call, `${basePath(call)}/update`, status, titles))
}

const print = ({ out, flags }: RootCall, status: JsonMap): number => {
  const isOtpShown = out.isTable && textOf(status.otp) !== ''
  if (isOtpShown && !out.field) {
    out.note('A one-time password (OTP) has been generated. It is shown only once; you need it to decode the token.\n')
  }
  const kind = flags['dr-token'] ? 'DR operation token' : 'root token'
  if (status.complete === true && out.isTable && !out.field)
    out.note(`The ${kind} is complete; use -decode with -otp to print it.\n`)
  return out.record(status, () => formatColumns(statusRows(status)))
}

const statusRows = (status: JsonMap): Row[] => [
  ['Nonce', textOf(status.nonce)],
  ['Started', goText(status.started)],
  ['Progress', `${goText(status.progress)}/${goText(status.required)}`],
  ['Complete', goText(status.complete)],
  ...presentRows(status, OPTIONAL_ROWS),
]

const OPTIONAL_ROWS = {
  pgp_fingerprint: 'PGP Fingerprint',
  encoded_token: 'Encoded Token',
  otp: 'OTP',
  otp_length: 'OTP Length',
} as const

/**
 * Decodes a token with its one-time password. `encoded` is base64, with or without padding. Throws a local error if
 * `encoded` is not base64, or if the token and the password differ in length.
 */
export const decodeToken = (encoded: string, otp: string): string => {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) throw localError('Error decoding token: the token is not base64')
  const tokenBytes = Buffer.byteLength(encoded, 'base64')
  const otpBytes = Buffer.byteLength(otp)
  if (tokenBytes === 0 || tokenBytes !== otpBytes) {
    throw localError(`Error decoding token: the token has ${tokenBytes} bytes, but the OTP has ${otpBytes}`)
  }
  return decodeWithOtp(encoded, otp)
}
