import type { PictureCluster } from '../drills/result.js'

/** The text below the name of a cluster: the role that decides whom it serves. */
export const describeRole = ({ dr, performance }: PictureCluster): string => {
  if (dr.mode === 'secondary') return 'DR secondary'
  if (performance.mode === 'secondary') return 'performance secondary'
  if (dr.mode === 'primary' || performance.mode === 'primary') return 'primary'
  if (dr.mode === 'bootstrapping' || performance.mode === 'bootstrapping') return 'bootstrapping'
  return dr.mode === 'unknown' ? 'role unknown' : 'not replicated'
}

export const isPrimary = (cluster: PictureCluster): boolean => describeRole(cluster) === 'primary'

/** The status of `sys/health` in words, and for a secondary whether it follows. */
export const describeHealth = ({ health, dr, performance }: PictureCluster): string => {
  if (health === null) return 'does not answer'
  const sealed: Readonly<Record<number, string>> = { 501: 'not initialised', 503: 'sealed' }
  const word = sealed[health]
  if (word !== undefined) return word
  const role = dr.mode === 'secondary' ? dr : performance
  if (role.mode !== 'secondary') return 'serves'
  return role.connectionState === 'ready' ? role.state : 'cut off'
}
