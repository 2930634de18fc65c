import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { failedDisk, noSpace } from '../../storage/engine/level-failure.js'
import { watchSource } from '../../storage/engine/watched-source.js'

export const DISK_STATES = ['ok', 'full', 'fail', 'slow'] as const
type DiskState = (typeof DISK_STATES)[number]

/** How the disk of this process behaves, as a lab wants it. Reads are never touched: they come from memory in good part. */
export class DiskFaults {
  state: DiskState = 'ok'
  /** The delay of each write while the disk is slow. */
  delayMs = 0

  /** Throws the error that a write meets. */
  requireRoom(): void {
    if (this.state === 'full') throw noSpace(new LogicalError('unavailable', 'the lab says that the disk is full'))
    if (this.state === 'fail') throw failedDisk(new LogicalError('unavailable', 'the lab says that the disk fails'))
  }
}

/** Storage that the lab can fill up, break and slow down. */
export const withDiskFaults = (source: EngineSource, faults: DiskFaults, clock: Clock): EngineSource =>
  watchSource(source, {
    beforeRead: () => undefined,
    beforeStep: (step) => {
      // Takes no room, and the generation that replaces it is in place by then.
      if (step !== 'destroy generation') faults.requireRoom()
    },
    beforeReopen: () => faults.requireRoom(),
    delay: (step, side) =>
      step === 'batch' && side === 'before' && faults.state === 'slow' ? clock.sleep(faults.delayMs) : undefined,
  })
