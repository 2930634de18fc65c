import type { Kind } from '../../kinds.js'
import type { LiveLab } from '../../live-lab.js'
import { statusOf } from '../../replication.js'

/** A secondary and its primary as they are now, whatever the lab was started as. */
export interface Tie {
  readonly kind: Kind
  readonly primary: string
  readonly secondary: string
  /** By which the primary knows the secondary. */
  readonly id: string
}

const KINDS: readonly Kind[] = ['performance', 'dr']

type Status = Readonly<Record<string, unknown>>

/** In the order of the clusters. What does not answer takes no part. */
export const findTies = async (lab: LiveLab): Promise<readonly Tie[]> => {
  const ties = await Promise.all(KINDS.map((kind) => tiesOf(lab, kind)))
  return ties.flat()
}

const tiesOf = async (lab: LiveLab, kind: Kind): Promise<Tie[]> => {
  const all = await Promise.all(
    lab.clusters.map(async ({ name }) => ({
      name,
      status: await statusOf(lab.anonymous(name), kind).catch((): Status => ({})),
    })),
  )
  return all.flatMap(({ name: secondary, status }) => {
    const primary = all.find((one) => one.status.mode === 'primary' && one.status.cluster_id === status.cluster_id)
    if (status.mode !== 'secondary' || !primary) return []
    return [{ kind, primary: primary.name, secondary, id: String(status.secondary_id) }]
  })
}

/** Clusters that follow nobody, and accept writes of their own. */
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
