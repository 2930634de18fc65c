import { DiskFaults } from './disk-faults.js'

/** The changes that the lab endpoints made to this process, apart from held states; they end with the process. */
export class LabState {
  /** Added to the wall clock. */
  skewMs = 0
  readonly disk = new DiskFaults()

  /** How many of them are active. */
  get activeFaults(): number {
    return (this.skewMs === 0 ? 0 : 1) + (this.disk.state === 'ok' ? 0 : 1)
  }
}
