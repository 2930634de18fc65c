import { LabError } from '../model/lab-error.js'

/**
 * Makes each of these names throw LabError `usage` with the reason when it is read, for callers without types that use features
 * of other labs.
 */
export const refuse = (on: object, whose: string, reasons: Readonly<Record<string, string>>): void => {
  for (const [name, why] of Object.entries(reasons))
    Object.defineProperty(on, name, {
      get: () => {
        throw new LabError('usage', `${whose} has no "${name}": ${why}`)
      },
    })
}
