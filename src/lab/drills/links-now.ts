import type { Kind } from '../kinds.js'
import { LabError } from '../lab-error.js'
import type { LiveLab } from '../live-lab.js'
import { statusOf } from '../replication.js'

type Status = Readonly<Record<string, unknown>>

/** Entries that a secondary lacks of those that its primary has for it. */
export const lagOf = (primary: Status, secondary: Status, kind: Kind): number => {
  const last = Number(primary[kind === 'dr' ? 'last_dr_wal' : 'last_performance_wal'] ?? primary.last_wal ?? 0)
  return Math.max(0, last - Number(secondary.last_remote_wal ?? 0))
}

/** Rejects when one of the two does not answer, or they are not primary and secondary of one set. */
export const lagBetween = async (lab: LiveLab, primary: string, secondary: string, kind: Kind): Promise<number> => {
  const [ours, theirs] = await Promise.all([primary, secondary].map((name) => statusOf(lab.anonymous(name), kind)))
  if (ours?.mode !== 'primary' || theirs?.mode !== 'secondary')
    throw new LabError(
      'remote',
      `${primary} is ${ours?.mode} and ${secondary} is ${theirs?.mode}: there is no lag between them`,
    )
  return lagOf(ours, theirs, kind)
}

/** The cluster of the lab that a secondary follows: the primary of its set. */
export const findFollowed = async (lab: LiveLab, name: string, kind: Kind): Promise<string | undefined> => {
  const own = await statusOf(lab.anonymous(name), kind)
  if (own.mode !== 'secondary') return undefined
  for (const { name: other } of lab.clusters) {
    if (other === name) continue
    const status = await statusOf(lab.anonymous(other), kind).catch((): Status => ({}))
    if (status.mode === 'primary' && status.cluster_id === own.cluster_id) return other
  }
  return undefined
}
