import { DiskFaults } from '../data/disk-faults.js'

/** What the lab endpoints have changed about this process beside what they hold; it ends with the process. */
export class LabState {
  /** Added to the wall clock. */
  skewMs = 0
  readonly disk = new DiskFaults()
}
