import { LabError } from '../model/lab-error.js'

/**
 * Has each of these names throw LabError `usage` with the reason when it is read: who asks without types for what other labs
 * have is told what is not there.
 */
export const refuse = (on: object, whose: string, reasons: Readonly<Record<string, string>>): void => {
  for (const [name, why] of Object.entries(reasons))
    Object.defineProperty(on, name, {
      get: () => {
        throw new LabError('usage', `${whose} has no "${name}": ${why}`)
      },
    })
}
