import { LogicalError } from '../../logical/errors.js'

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** Returns true if a write or open failed because the disk is full. */
export const isNoSpace = (error: unknown): boolean =>
  error instanceof Error && (hasCode(error, 'ENOSPC') || /No space left/i.test(error.message) || isNoSpace(error.cause))

export const noSpace = (cause: unknown): LogicalError =>
  new LogicalError('unavailable', 'no space left on the storage device: nothing can be written', { cause })

const WAYS_BACK = 'Restore the files, or promote a secondary in its place'

/** Returns the error of a database that LevelDB cannot open or read. `what` is a sentence without its final period. */
export const unreadable = (what: string, cause?: unknown): LogicalError =>
  new LogicalError('internal', `${what}. ${WAYS_BACK}`, { cause })

/** Returns true if LevelDB failed to read data. Recognizes the message, because such an error has no code. */
export const isUnreadable = (error: unknown): error is Error =>
  error instanceof Error && /^(?:IO error|Corruption): /.test(error.message)

/** Returns the error of damaged data, with possible next steps. `what` is a sentence without its final period. */
export const damagedData = (what: string): LogicalError =>
  new LogicalError(
    'internal',
    `${what}. ${WAYS_BACK}; to continue with the remaining data, use "understudy storage adopt --force"`,
  )

/** Returns the error that a client gets after a failed write. */
export const failedDisk = (error: unknown): LogicalError =>
  isNoSpace(error) ? noSpace(error) : new LogicalError('unavailable', 'the storage device failed', { cause: error })

/** The error of a write that failed before it reached the database. The database accepts further writes. */
export class NothingWritten extends LogicalError {
  constructor(cause: unknown) {
    const { code, message } = failedDisk(cause)
    super(code, message, { cause })
  }
}
