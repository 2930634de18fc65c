import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { failedDisk, noSpace } from '../../storage/engine/level-failure.js'
import { watchSource } from '../../storage/engine/watched-source.js'

export const DISK_STATES = ['ok', 'full', 'fail', 'slow'] as const

/**
 * The disk faults that a lab has injected into this process. They do not affect reads, because most reads are served
 * from memory.
 */
export class DiskFaults {
  state: (typeof DISK_STATES)[number] = 'ok'
  delayMs = 0

  /** Throws `LogicalError` if an injected fault makes writes fail. */
  requireWritable(): void {
    if (this.state === 'full')
      throw noSpace(new LogicalError('unavailable', 'the disk is full (fault injected by the lab)'))
    if (this.state === 'fail')
      throw failedDisk(new LogicalError('unavailable', 'the disk failed (fault injected by the lab)'))
  }
}

/** Wraps an engine source, so that injected disk faults affect it. */
export const withDiskFaults = (source: EngineSource, faults: DiskFaults, clock: Clock): EngineSource =>
  watchSource(source, {
    beforeRead: () => undefined,
    beforeStep: (step) => {
      // Destroying a generation needs no disk space, and the generation that replaces it already exists.
      if (step !== 'destroy generation') faults.requireWritable()
    },
    beforeReopen: () => faults.requireWritable(),
    delay: (step, side) =>
      step === 'batch' && side === 'before' && faults.state === 'slow' ? clock.sleep(faults.delayMs) : undefined,
  })

/**
 * The changes that lab endpoints have made to this process, except for held states. The end of the process discards
 * them.
 */
export class LabState {
  skewMs = 0
  readonly disk = new DiskFaults()

  get activeFaults(): number {
    return (this.skewMs === 0 ? 0 : 1) + (this.disk.state === 'ok' ? 0 : 1)
  }
}
