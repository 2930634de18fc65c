import { LabError } from '../lab-error.js'
import { type ActiveFault, isOfLink } from './active-fault.js'

/** Those of the link between two clusters, in whatever order they are named. */
export const findBetween = (active: readonly ActiveFault[], one: string, other: string): readonly ActiveFault[] =>
  active.filter((fault) => isOfLink(fault) && fault.between.includes(one) && fault.between.includes(other))

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
