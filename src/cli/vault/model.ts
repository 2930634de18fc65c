/** The types of the command line: its environment, errors, and the JSON documents of the server. */
import { attempt } from '../../base/attempt.js'
import type { Clock } from '../../base/clock.js'
import { parseExactJson } from '../../base/exact-json.js'
import { RawNumber } from '../../base/json.js'
import { textsOfJson } from '../../base/json-print.js'
import { LIMITS } from '../../base/limits.js'
import { messageOf } from '../../base/printable.js'
import type { Random } from '../../base/random.js'

/** The injected environment of the command line. Tests pass their own. */
export interface VaultIo {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The directory of `.vault-token`. */
  readonly homeDirectory: string
  readonly isStdoutTty: boolean
  readonly clock: Pick<Clock, 'sleep'>
  readonly random: Random
  /** Writes to standard output, unchanged. */
  write(data: string | Uint8Array): void
  /** Writes a line to standard error. */
  complain(text: string): void
  /** Reads standard input to its end. Can be called once. */
  readStdin(): Promise<Buffer>
  /** Reads a line from the terminal without echo, or the next line of standard input if it is not a terminal. */
  ask(prompt: string): Promise<string>
  /** Runs `server` with these arguments until it ends. */
  serve(args: readonly string[]): Promise<number>
}

/** Exit codes of Vault. */
export const VAULT_EXIT = { ok: 0, local: 1, remote: 2 } as const

/** Ends a command: the text goes to standard error, the exit code to the caller. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly status: number
  /** The errors that the server responded with. */
  readonly answered: readonly string[]

  constructor(status: number, text: string, options: ErrorOptions & Partial<Pick<CliError, 'answered'>> = {}) {
    super(text, options)
    this.status = status
    this.answered = options.answered ?? []
  }
}

/** Creates an error of the caller or of this machine. No request was sent to the server. */
export const localError = (text: string, cause?: unknown): CliError => new CliError(VAULT_EXIT.local, text, { cause })

export const remoteError = (text: string, cause?: unknown): CliError => new CliError(VAULT_EXIT.remote, text, { cause })

/** Returns the result of `act`, for example of reading a file. An error becomes a local one that begins with `what`. */
export const locally = <T>(what: string, act: () => T): T => {
  try {
    return act()
  } catch (error) {
    throw localError(`${what}: ${messageOf(error)}`, error)
  }
}

export type JsonMap = { readonly [key: string]: unknown }

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawNumber)

/** Returns the same document with the keys of every object sorted. */
export const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  )
}

/** Data written with maximum nesting is returned inside an envelope. */
const ANSWER_DEPTH_MAX = LIMITS.jsonDepthMax + 10

/** The envelope of a response. Absent parts are undefined. */
export interface Secret {
  readonly requestId: string
  readonly leaseId: string
  readonly leaseDuration: unknown
  readonly isRenewable: boolean
  readonly data: JsonMap | undefined
  readonly warnings: readonly string[]
  readonly auth: JsonMap | undefined
  readonly wrapInfo: JsonMap | undefined
  readonly mountType: string
  /** The response as received. */
  readonly bytes: Buffer
}

/**
 * Parses a response body. A body without an envelope, for example that of sys/seal-status, counts as data. Returns
 * undefined for an empty body and for a body that is not a JSON object.
 */
export const parseSecret = (bytes: Buffer): Secret | undefined => {
  const body = parseBody(bytes)
  return body && secretOf(body, bytes)
}

export const secretOf = (body: JsonMap, bytes: Buffer): Secret => {
  const secret: Secret = {
    requestId: textOf(body.request_id),
    leaseId: textOf(body.lease_id),
    leaseDuration: body.lease_duration ?? 0,
    isRenewable: body.renewable === true,
    data: isMap(body.data) ? body.data : undefined,
    warnings: textsOfJson(body.warnings),
    auth: isMap(body.auth) ? body.auth : undefined,
    wrapInfo: isMap(body.wrap_info) ? body.wrap_info : undefined,
    mountType: textOf(body.mount_type),
    bytes,
  }
  return isEnvelope(secret) ? secret : { ...secret, data: body }
}

export const parseBody = (bytes: Buffer): JsonMap | undefined => {
  if (bytes.length === 0) return undefined
  const body = attempt(() => parseExactJson(bytes.toString('utf8'), ANSWER_DEPTH_MAX))
  return isMap(body) ? body : undefined
}

const isEnvelope = ({ requestId, leaseId, data, warnings, auth, wrapInfo }: Secret): boolean =>
  requestId !== '' || leaseId !== '' || warnings.length > 0 || [data, auth, wrapInfo].some((part) => part !== undefined)

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
