import type { Kind } from '../../replication/model/types.js'
import type { RuntimeParts } from '../parts/runtime-parts.js'
import type { ReplicationParts } from './replication-parts.js'

/** The lag of one secondary of this primary. */
interface SecondaryLag {
  readonly kind: Kind
  /** Its ID on this primary. */
  readonly secondary: string
  readonly entries: number
  /** Age in milliseconds of the oldest entry that it lacks. */
  readonly ms: number
  /** Time of its last heartbeat, in milliseconds since the epoch; 0: never. */
  readonly lastHeartbeatMs: number
}

export const secondaryLags = (
  { store }: Pick<RuntimeParts, 'store'>,
  { replication, commitTimes }: ReplicationParts,
): readonly SecondaryLag[] =>
  (['dr', 'performance'] as const).flatMap((kind) =>
    [...(replication.context.running[kind].primary?.registry.views() ?? [])].map((secondary) => ({
      kind,
      secondary: secondary.secondaryId,
      entries: Math.max(0, store.position.index - secondary.appliedIndex),
      ms: commitTimes.lackingMs(secondary.appliedIndex),
      lastHeartbeatMs: secondary.lastHeartbeatMs ?? 0,
    })),
  )

/** Returns how far this secondary is behind the position announced by its primary; undefined if none was announced. */
export const upstreamLag = ({
  view: { lastRemoteWal, announcedIndex, lagMs },
}: Pick<ReplicationParts, 'view'>): { readonly entries: number; readonly ms: number } | undefined =>
  announcedIndex === 0 ? undefined : { entries: Math.max(0, announcedIndex - lastRemoteWal), ms: lagMs }
