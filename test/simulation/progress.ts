import type { FollowerService } from '../../src/replication/host/services.js'
import type { World } from './world.js'

const POLL_MS = 500
/** Less than the patience of the product, which would hide the defect. */
const LIMIT_MS = 20_000

/**
 * Checks that a connected secondary that lacks entries, or waits for its position to be found, makes progress within
 * the limit.
 */
export const judgeProgress = async (world: World, isOver: () => boolean): Promise<void> => {
  const seen = new Map<string, { readonly progress: string; readonly sinceMs: number }>()
  while (!isOver()) {
    await world.clock.sleep(POLL_MS)
    for (const { name, cluster } of world.members) {
      const { server, nodes } = cluster
      const running = server?.runtime?.cluster?.replication.replication.context.running
      const isImpaired = nodes.some(({ clock }) => clock?.frozenMs !== 0) || server?.labState.disk.state !== 'ok'
      for (const kind of ['dr', 'performance'] as const) {
        const progress = isImpaired ? undefined : progressOf(running?.[kind].follower)
        const key = `${name} ${kind}`
        const before = seen.get(key)
        if (progress === undefined) seen.delete(key)
        else if (before?.progress !== progress) seen.set(key, { progress, sinceMs: world.clock.monotonic() })
        else if (world.clock.monotonic() - before.sinceMs > LIMIT_MS)
          world.fail(`${name} is connected to its ${kind} primary without progress: ${progress}`)
      }
    }
  }
}

/**
 * Returns undefined for a secondary that is not connected, or that streams and has applied everything announced to it.
 */
const progressOf = (follower: FollowerService | undefined): string | undefined => {
  if (follower?.connectionState !== 'ready') return undefined
  const { state, applied, syncProgress, primary } = follower
  if (state === 'stream-wals' && (primary?.lagMs ?? 0) === 0) return undefined
  return `${state}, ${applied?.index} of ${applied?.epoch}, ${syncProgress?.doneKeys ?? 0} keys`
}
