import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { failedDisk, noSpace } from '../../storage/engine/level-failure.js'
import { watchSource } from '../../storage/engine/watched-source.js'

export const DISK_STATES = ['ok', 'full', 'fail', 'slow'] as const

/** The disk faults that a lab has injected into this process. Reads are not affected, since most come from memory. */
export class DiskFaults {
  state: (typeof DISK_STATES)[number] = 'ok'
  delayMs = 0

  /** Throws `LogicalError` if an injected fault makes writes fail. */
  requireRoom(): void {
    if (this.state === 'full')
      throw noSpace(new LogicalError('unavailable', 'the disk is full (fault injected by the lab)'))
    if (this.state === 'fail')
      throw failedDisk(new LogicalError('unavailable', 'the disk failed (fault injected by the lab)'))
  }
}

/** Wraps storage so that the lab can fill it, break it and slow it down. */
export const withDiskFaults = (source: EngineSource, faults: DiskFaults, clock: Clock): EngineSource =>
  watchSource(source, {
    beforeRead: () => undefined,
    beforeStep: (step) => {
      // Destroying a generation needs no disk space, and its replacement already exists.
      if (step !== 'destroy generation') faults.requireRoom()
    },
    beforeReopen: () => faults.requireRoom(),
    delay: (step, side) =>
      step === 'batch' && side === 'before' && faults.state === 'slow' ? clock.sleep(faults.delayMs) : undefined,
  })

/** The changes that lab endpoints have made to this process, except held states. They are lost when the process ends. */
export class LabState {
  skewMs = 0
  readonly disk = new DiskFaults()

  get activeFaults(): number {
    return (this.skewMs === 0 ? 0 : 1) + (this.disk.state === 'ok' ? 0 : 1)
  }
}
