import { LabError } from '../model/lab-error.js'
import { type ActiveFault, isOfLink } from './active-fault.js'

/** Finds the faults of links between two ends, in any order. Each end is given by its names and the names of its nodes. */
export const findBetween = (
  active: readonly ActiveFault[],
  ones: readonly string[],
  others: readonly string[],
): readonly ActiveFault[] => {
  const leads = (from: string, to: string) => ones.includes(from) && others.includes(to)
  return active.filter(isOfLink).filter(({ between: [from, to] }) => leads(from, to) || leads(to, from))
}

/** Heals each fault. A fault that has expired or was healed since it was listed counts as healed. */
export const healEach = async (
  heal: (id: number) => Promise<unknown>,
  chosen: readonly ActiveFault[],
): Promise<readonly ActiveFault[]> => {
  for (const { id } of chosen) {
    await heal(id).catch((error: unknown) => {
      if (!(error instanceof LabError && error.code === 'usage')) throw error
    })
  }
  return chosen
}
