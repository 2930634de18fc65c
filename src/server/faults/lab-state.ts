import { DiskFaults } from './disk-faults.js'

/** The changes that lab endpoints have made to this process, except held states. They are lost when the process ends. */
export class LabState {
  /** Offset of the wall clock in ms. */
  skewMs = 0
  readonly disk = new DiskFaults()

  get activeFaults(): number {
    return (this.skewMs === 0 ? 0 : 1) + (this.disk.state === 'ok' ? 0 : 1)
  }
}
