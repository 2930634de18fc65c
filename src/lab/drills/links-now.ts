import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { LiveLab } from '../live/live-lab.js'
import { countOf, modeOf, type Status, statusOf } from '../requests/replication.js'
import type { RoleHolder } from '../status/links.js'
import { askRoles } from '../status/role-view.js'

/** Returns the number of entries of the primary that the secondary does not have yet. */
export const lagOf = (primary: Status, secondary: Status, kind: Kind): number => {
  const last = countOf(primary[kind === 'dr' ? 'last_dr_wal' : 'last_performance_wal'] ?? primary.last_wal)
  return Math.max(0, last - countOf(secondary.last_remote_wal))
}

/** Rejects if a cluster does not respond, or if the two are not primary and secondary of one set. */
export const lagBetween = async (lab: LiveLab, primary: string, secondary: string, kind: Kind): Promise<number> => {
  const [ours, theirs] = await Promise.all([primary, secondary].map((name) => statusOf(lab.anonymous(name), kind)))
  if (ours?.mode !== 'primary' || theirs?.mode !== 'secondary')
    throw new LabError(
      'remote',
      `${primary} is ${modeOf(ours ?? {})} and ${secondary} is ${modeOf(theirs ?? {})}: there is no lag between them`,
    )
  return lagOf(ours, theirs, kind)
}

/** Returns the current roles of all clusters of the lab. */
export const rolesNow = (lab: LiveLab): Promise<readonly RoleHolder[]> =>
  Promise.all(lab.clusters.map(async ({ name }) => ({ name, ...(await askRoles(lab.anonymous(name))) })))
