import type { Clock } from '../../base/clock.js'
import { isAttached, type LabRecord } from '../model/cluster.js'
import { LabDaemonClient } from './lab-daemon-client.js'
import { findIntactLab } from '../model/lab-directory.js'
import type { LabEvent } from '../events/event.js'
import { readEvents } from '../events/event-file.js'

/** Returns all events of a lab: those in its files, and those only in the memory of its daemon. */
export const listEvents = async (lab: LabRecord): Promise<LabEvent[]> => {
  const kept = await new LabDaemonClient(lab.keeper.socket).events().catch((): LabEvent[] => [])
  const known = new Map([...readEvents(lab.directory), ...kept].map((event) => [event.id, event]))
  return [...known.values()].sort((one, other) => one.id - other.id)
}

interface FollowOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onEvent: (event: LabEvent) => void
  /** Called with the reason each time that the connection to the lab daemon is lost. */
  readonly onLost: (reason: string) => void
}

const RETRY_MS = 250

/**
 * Calls `onEvent` with events after this number, until `signal` is aborted or the lab is removed. Reconnects if the lab daemon
 * has exited or has disconnected a slow reader.
 */
export const followEvents = async (lab: LabRecord, after: number, options: FollowOptions): Promise<void> => {
  const { clock, signal, onEvent, onLost } = options
  let last = after
  let isLost = false
  while (!signal.aborted && isThere(lab)) {
    try {
      await new LabDaemonClient(lab.keeper.socket).follow(
        last,
        (event) => {
          last = event.id
          isLost = false
          onEvent(event)
        },
        signal,
      )
    } catch (error) {
      if (!isLost) onLost(error instanceof Error ? error.message : String(error))
      isLost = true
    }
    await clock.sleep(RETRY_MS, signal).catch(() => undefined)
  }
}

/** Whether this lab still exists. A new lab with the same name has another daemon. */
const isThere = ({ name, keeper }: LabRecord): boolean => {
  const lab = findIntactLab(name)
  return lab !== undefined && !isAttached(lab) && lab.keeper.socket === keeper.socket
}
