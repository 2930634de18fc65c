import type { Kind } from '../../replication/model/types.js'
import type { RuntimeParts } from '../parts/runtime-parts.js'
import type { ReplicationParts } from './replication-parts.js'

/** How far behind one secondary of this primary is. */
interface SecondaryLag {
  readonly kind: Kind
  /** The id that it has here. */
  readonly secondary: string
  readonly entries: number
  /** For how long the first of them has been lacking. */
  readonly ms: number
  /** When it was heard of last, in milliseconds since the epoch; 0: never. */
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

/** How far this secondary is behind what its primary has announced; undefined where nothing was. */
export const upstreamLag = ({
  view: { lastRemoteWal, announcedIndex, lagMs },
}: Pick<ReplicationParts, 'view'>): { readonly entries: number; readonly ms: number } | undefined =>
  announcedIndex === 0 ? undefined : { entries: Math.max(0, announcedIndex - lastRemoteWal), ms: lagMs }
