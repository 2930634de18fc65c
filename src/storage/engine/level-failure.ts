import { LogicalError } from '../../logical/errors.js'

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** True when the cause of a failed write or open is a full disk. */
export const isNoSpace = (error: unknown): boolean =>
  error instanceof Error && (hasCode(error, 'ENOSPC') || /No space left/i.test(error.message) || isNoSpace(error.cause))

export const noSpace = (cause: unknown): LogicalError =>
  new LogicalError('unavailable', 'no space left on the storage device: nothing can be written', { cause })

const WAYS_BACK = 'Put the files back as they were, or let a secondary take its place'

/** The error of a database that LevelDB itself cannot open or read, which no command mends. */
export const unreadable = (what: string, cause?: unknown): LogicalError =>
  new LogicalError('internal', `${what}. ${WAYS_BACK}`, { cause })

/** True when LevelDB could not read what it needed: reads in one step fail with its words and no code. */
export const isUnreadable = (error: unknown): error is Error =>
  error instanceof Error && /^(?:IO error|Corruption): /.test(error.message)

/** The error of data that is not as it was written, with the ways out of it. `what`: a sentence without its end. */
export const damagedData = (what: string): LogicalError =>
  new LogicalError(
    'internal',
    `${what}. ${WAYS_BACK}; to go on with what is left, use "understudy storage adopt --force"`,
  )

/** The error of a failed write as clients get it. */
export const failedDisk = (error: unknown): LogicalError =>
  isNoSpace(error) ? noSpace(error) : new LogicalError('unavailable', 'the storage device failed', { cause: error })

/** A write that has failed before anything of it reached the database, which can be written to as before. */
export class NothingWritten extends LogicalError {
  constructor(cause: unknown) {
    const { code, message } = failedDisk(cause)
    super(code, message, { cause })
  }
}
