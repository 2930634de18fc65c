import type { Kind } from '../../model/kinds.js'
import type { LiveLab } from '../../live/live-lab.js'
import { statusOf } from '../../requests/replication.js'
import { findPrimary } from '../../status/links.js'
import { rolesNow } from '../links-now.js'

/** A secondary and its primary now, independent of the topology at the start of the lab. */
export interface Tie {
  readonly kind: Kind
  readonly primary: string
  readonly secondary: string
  /** The ID of the secondary at the primary. */
  readonly id: string
}

const KINDS: readonly Kind[] = ['performance', 'dr']

/** Finds the current replication links, in cluster order. Ignores clusters that do not respond. */
export const findTies = async (lab: LiveLab): Promise<readonly Tie[]> => {
  const clusters = await rolesNow(lab)
  return KINDS.flatMap((kind) =>
    clusters.flatMap((secondary) => {
      const { mode, secondaryId: id } = secondary[kind]
      const primary = mode === 'secondary' ? findPrimary(secondary, clusters, kind) : undefined
      return primary ? [{ kind, primary: primary.name, secondary: secondary.name, id }] : []
    }),
  )
}

/** Finds the clusters that replicate from no primary and accept writes. */
export const findHeads = async (lab: LiveLab): Promise<readonly string[]> => {
  const open = await Promise.all(
    lab.clusters.map(async ({ name }) => {
      const health = await lab
        .anonymous(name)
        .send('GET', 'sys/health')
        .catch(() => undefined)
      const follows = await Promise.all(
        KINDS.map((kind) =>
          statusOf(lab.anonymous(name), kind).then(
            ({ mode }) => mode === 'secondary',
            () => true,
          ),
        ),
      )
      return health?.status === 200 && !follows.includes(true) ? name : undefined
    }),
  )
  return open.filter((name) => name !== undefined)
}
