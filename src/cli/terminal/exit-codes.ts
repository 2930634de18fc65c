import { constants } from 'node:os'
import { ApiError, ApiUnreachable } from '../../client/api-client.js'
import { Interrupted, LabError, type LabErrorCode } from '../../lab/model/lab-error.js'

/** Exit codes of all commands. A script can distinguish failures by them. */
export const EXIT = {
  ok: 0,
  /** The command line or a file is invalid, or an unexpected error occurred. */
  usage: 1,
  /** A server rejected a request or did not respond, or `status` found problems. */
  remote: 2,
  /** An expectation of a drill is false. */
  assertion: 3,
  timeout: 4,
  /** Another process uses a port, a directory or the lab. */
  conflict: 5,
  interrupted: 130,
} as const

const BY_LAB_ERROR: Readonly<Record<LabErrorCode, number>> = {
  usage: EXIT.usage,
  remote: EXIT.remote,
  timeout: EXIT.timeout,
  conflict: EXIT.conflict,
  interrupted: EXIT.interrupted,
}

/** The exit code of a command that a signal ended is 128 plus the signal number, as in shells. */
const BY_SIGNAL = 128

export const exitCodeOf = (error: unknown): number => {
  if (error instanceof Interrupted) return BY_SIGNAL + constants.signals[error.signal]
  if (error instanceof LabError) return BY_LAB_ERROR[error.code]
  return error instanceof ApiError || error instanceof ApiUnreachable ? EXIT.remote : EXIT.usage
}
