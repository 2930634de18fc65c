import { SealedFileError } from '../../server/lab/sealed-file.js'
import { LabError } from '../model/lab-error.js'

const FAULTS = {
  'not-sealed': 'is no snapshot of a lab',
  'ends-early': 'is damaged: it ends early',
  wrong: 'is damaged: it is not as it was written',
} as const

/** Returns the error to throw for a file that another user provided, with the name of the file. */
export const explain = (error: unknown, file: string): unknown => {
  if (error instanceof SealedFileError) return new LabError('usage', `${file} ${FAULTS[error.fault]}`, { cause: error })
  if (error instanceof Error && error.name === 'LogicalError')
    return new LabError('usage', error.message, { cause: error })
  const isOfContent = error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError
  return isOfContent ? new LabError('usage', `${file} is damaged: ${error.message}`, { cause: error }) : error
}
