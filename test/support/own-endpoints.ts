import type { Cluster } from './clusters.js'
import type { Drill } from './drill.js'

/** A list of entries that a failover lost. */
export interface Loss {
  readonly epoch: string
  readonly first_index: number
  readonly last_index: number
  readonly reason: string
  readonly entries: readonly { readonly index: number; readonly path: string; readonly operation: string }[]
}

export const infoOf = async (on: Drill, cluster: Cluster): Promise<Record<string, unknown>> =>
  (await on.ok(cluster, 'GET', '/_understudy/v1/info')).body

/** Returns the number of the storage generation, which increases with each wipe. */
export const generationOf = async (on: Drill, cluster: Cluster): Promise<number> =>
  Number((await infoOf(on, cluster)).storage_generation)

export const lossesOf = async (on: Drill, cluster: Cluster): Promise<Loss[]> =>
  (await on.ok(cluster, 'GET', '/_understudy/v1/losses')).body.losses as Loss[]
