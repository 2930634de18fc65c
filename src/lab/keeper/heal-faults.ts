import { LabError } from '../model/lab-error.js'
import { type ActiveFault, isOfLink } from './active-fault.js'

/** Those of the links between two places, in whatever order they are named; each is known by its names and those of its nodes. */
export const findBetween = (
  active: readonly ActiveFault[],
  ones: readonly string[],
  others: readonly string[],
): readonly ActiveFault[] => {
  const leads = (from: string, to: string) => ones.includes(from) && others.includes(to)
  return active.filter(isOfLink).filter(({ between: [from, to] }) => leads(from, to) || leads(to, from))
}

/** A fault that has healed by itself since it was listed, or that somebody else has healed, is healed as well. */
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
