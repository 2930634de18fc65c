import type { LabHost } from './lifecycle/lab-host.js'
import { findLab } from './lifecycle/lab-directory.js'
import { type LabListing, listLabStates } from './lifecycle/listing.js'
import { surveyLab } from './survey.js'

/** A lab in a list, with what is wrong in it; null where nothing of it runs that could be asked. */
export interface LabOverview extends LabListing {
  readonly problems: readonly string[] | null
}

const ASKED: ReadonlySet<LabListing['state']> = new Set(['running', 'partly running', 'attached'])

/** All labs of this machine; the clusters of those that run are asked at once, for a second each at most. */
export const listLabsWithHealth = (host: LabHost): Promise<LabOverview[]> =>
  Promise.all(listLabStates(host).map(async (lab) => ({ ...lab, problems: await findProblems(lab, host) })))

/** One lab that cannot be looked at, as one that goes down meanwhile, keeps nobody from seeing the others. */
const findProblems = async ({ name, state }: LabListing, host: LabHost): Promise<readonly string[] | null> => {
  if (!ASKED.has(state)) return null
  try {
    const lab = findLab(name)
    return lab ? (await surveyLab(lab, host)).problems : null
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}
