import type { LabEvent } from '../events/event.js'
import type { LastPosition } from '../requests/expected-loss.js'

/** Returns true if a server serves no clients after this command, until a later command starts it. */
export const takesDown = (verb: unknown): boolean => ['stop', 'crash', 'pause', 'seal'].includes(String(verb))

/**
 * Returns the position of a DR primary when a command took it down. Undefined if the cluster was not a DR primary, if a
 * later command started it or restored the lab, or if the lab daemon saw it serve again: a start that was interrupted
 * has no event of its own. The positions are stored in events, so they are available as long as the lab daemon keeps
 * these events.
 */
export const findLastPosition = (events: readonly LabEvent[], cluster: string): LastPosition | undefined => {
  const own = events.filter((event) => (event.cluster ?? cluster) === cluster)
  const end = own.findLastIndex(
    ({ kind, details }) =>
      (kind === 'command' && !takesDown(details.verb)) ||
      (kind === 'process' && details.to === 'running') ||
      (kind === 'seal' && details.to === 'unsealed'),
  )
  // A second command records no position, because the server is already down.
  return own
    .slice(end + 1)
    .flatMap(({ details }) => parsePosition(details.position) ?? [])
    .at(-1)
}

/**
 * Returns `findLastPosition` of the cluster that a command took down last, among the primaries of a replication set.
 * `set`: the ID of the set.
 */
export const findLastPositionOf = (events: readonly LabEvent[], set: string): LastPosition | undefined => {
  const last = events.findLast(({ details }) => parsePosition(details.position)?.set === set)
  return last?.cluster === undefined ? undefined : findLastPosition(events, last.cluster)
}

/** Returns undefined without an epoch: the position could be in an earlier log. */
const parsePosition = (value: unknown): LastPosition | undefined => {
  const { set, epoch, lastWal, isFinal } = (value ?? {}) as Partial<LastPosition>
  return typeof set === 'string' && typeof epoch === 'string' && epoch !== '' && typeof lastWal === 'number'
    ? { set, epoch, lastWal, isFinal: isFinal === true }
    : undefined
}
