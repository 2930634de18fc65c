/**
 * Kinds of failures in a lab. The exit codes of the command line distinguish the same kinds.
 * - `usage`: an error of the caller
 * - `remote`: an error of a cluster
 * - `timeout`: a condition did not hold in time
 * - `conflict`: a resource is in use
 * - `interrupted`: the caller stopped the work
 *
 * @example
 * import { LabError, type LabErrorCode, startLab } from 'understudy-lab'
 *
 * const codeOf = (error: unknown): LabErrorCode | undefined => (error instanceof LabError ? error.code : undefined)
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').partition()
 * await lab.healthy({ timeoutMs: 1_000 }).catch((error: unknown) => console.log(codeOf(error))) // timeout
 */
export type LabErrorCode = 'usage' | 'remote' | 'timeout' | 'conflict' | 'interrupted'

/**
 * The error of all lab functions. `code` is its kind, and the message is for users.
 *
 * @example
 * import { LabError, startLab } from 'understudy-lab'
 *
 * try {
 *   await using lab = await startLab('pr', { timeoutMs: 5_000 })
 * } catch (error) {
 *   if (!(error instanceof LabError) || error.code !== 'timeout') throw error
 *   console.log(error.message) // names the cluster and the condition that did not hold
 * }
 */
export class LabError extends Error {
  override readonly name: string = 'LabError'
  readonly code: LabErrorCode

  constructor(code: LabErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.code = code
  }
}

/** The command was interrupted before it finished. */
export class Interrupted extends LabError {
  readonly signal: NodeJS.Signals

  constructor(signal: NodeJS.Signals, message = `interrupted by ${signal}`) {
    super('interrupted', message)
    this.signal = signal
  }
}
