import { textOfJson } from '../../base/json-print.js'
import type { Clock } from '../../base/clock.js'
import { KIND_WORDS, type Kind } from '../model/kinds.js'
import { hasAll, type Status } from '../requests/replication.js'
import type { ClusterView } from './cluster-view.js'
import type { FollowView } from './links.js'

/** Reads the current replication status of a cluster. */
type Ask = (cluster: string, kind: Kind) => Promise<Status>

/** Pause between two checks: a response may be from the middle of a change. */
const PAUSE_MS = 50
const ROOT_SHOWN = 12

/**
 * Describes secondaries that have every change of their primary but another Merkle root: their data differs, and waiting does not
 * help. Roots from one survey may be of different times, so different ones are read again. Reports only differences that remain
 * while the primary does not change.
 */
export const findDifferentRoots = async (
  links: readonly FollowView[],
  views: readonly Pick<ClusterView, 'name' | Kind>[],
  ask: Ask,
  clock: Clock,
): Promise<string[]> => {
  const rootOf = (name: string | null, kind: Kind) => views.find((view) => view.name === name)?.[kind].merkleRoot ?? ''
  const suspects = links.filter(
    ({ kind, primary, secondary, lagEntries }) =>
      lagEntries === 0 && rootOf(primary, kind) !== '' && rootOf(primary, kind) !== rootOf(secondary, kind),
  )
  const told = await Promise.all(suspects.map((link) => compare(link, ask, clock).catch(() => undefined)))
  return told.flatMap((text) => text ?? [])
}

const compare = async (link: FollowView, ask: Ask, clock: Clock): Promise<string | undefined> => {
  if ((await compareOnce(link, ask)) === undefined) return undefined
  await clock.sleep(PAUSE_MS)
  return compareOnce(link, ask)
}

const compareOnce = async ({ kind, primary, secondary }: FollowView, ask: Ask): Promise<string | undefined> => {
  if (primary === null) return undefined
  const before = await ask(primary, kind)
  const theirs = await ask(secondary, kind)
  const ours = await ask(primary, kind)
  const isStill = before.merkle_root === ours.merkle_root
  const streams = theirs.state === 'stream-wals' && theirs.connection_state === 'ready'
  if (!isStill || !streams || !hasAll(theirs, ours, kind) || theirs.merkle_root === ours.merkle_root) return undefined
  const [own, other] = [theirs, ours].map(({ merkle_root: root }) => textOfJson(root).slice(0, ROOT_SHOWN))
  return `${secondary} and its ${KIND_WORDS[kind]} primary ${primary} differ: ${secondary} has every change, and its merkle root is ${own}, that of ${primary} ${other}`
}
