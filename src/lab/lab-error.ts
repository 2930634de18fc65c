/** What went wrong in a lab, as the command line's exit codes tell it apart. */
export type LabErrorCode = 'usage' | 'remote' | 'timeout' | 'conflict' | 'interrupted'

export class LabError extends Error {
  override readonly name: string = 'LabError'
  readonly code: LabErrorCode

  constructor(code: LabErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.code = code
  }
}

/** Somebody asked the command to end before it was done. */
export class Interrupted extends LabError {
  readonly signal: NodeJS.Signals

  constructor(signal: NodeJS.Signals, message = `interrupted by ${signal}`) {
    super('interrupted', message)
    this.signal = signal
  }
}
