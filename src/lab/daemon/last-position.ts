import type { LabEvent } from '../events/event.js'
import type { LastPosition } from '../requests/expected-loss.js'

/** Returns true if a server serves no clients after this command, until a later command starts it. */
export const takesDown = (verb: unknown): boolean => ['stop', 'crash', 'pause', 'seal'].includes(String(verb))

/**
 * Returns the log position of a DR primary when a command took the cluster down. Undefined if the cluster was not a DR primary,
 * if a later command started the cluster or restored the lab, or if the lab no longer has the event of the command.
 */
export const findLastPosition = (events: readonly LabEvent[], cluster: string): LastPosition | undefined => {
  const commands = events.filter((event) => event.kind === 'command' && (event.cluster ?? cluster) === cluster)
  const end = commands.findLastIndex(({ details }) => !takesDown(details.verb))
  // A second command records no position, because the server is already down.
  return commands
    .slice(end + 1)
    .flatMap(({ details }) => parsePosition(details.position) ?? [])
    .at(-1)
}

/**
 * Returns `findLastPosition` of the cluster that a command took down last, among the primaries of a replication set. `set`: the
 * ID of the set.
 */
export const findLastPositionOf = (events: readonly LabEvent[], set: string): LastPosition | undefined => {
  const last = events.findLast(({ details }) => parsePosition(details.position)?.set === set)
  return last?.cluster === undefined ? undefined : findLastPosition(events, last.cluster)
}

const parsePosition = (value: unknown): LastPosition | undefined => {
  const { set, lastWal, isFinal } = (value ?? {}) as Partial<LastPosition>
  return typeof set === 'string' && typeof lastWal === 'number'
    ? { set, lastWal, isFinal: isFinal === true }
    : undefined
}
