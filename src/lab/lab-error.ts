/** What went wrong in a lab, as the command line's exit codes tell it apart. */
export type LabErrorCode = 'usage' | 'remote' | 'timeout' | 'conflict'

export class LabError extends Error {
  override readonly name = 'LabError'
  readonly code: LabErrorCode

  constructor(code: LabErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.code = code
  }
}
