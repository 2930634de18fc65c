import { type Clock, systemClock } from '../../base/clock.js'
import { LabError } from '../model/lab-error.js'
import { createProcessTable, identify, type ProcessIdentity, type ProcessTable } from '../model/process-table.js'
import { ServerProcesses } from './server-processes.js'

/** This machine, as used by lab commands. */
export interface LabHost {
  readonly clock: Clock
  readonly table: ProcessTable
  readonly servers: ServerProcesses
  /** The process of the command itself. */
  readonly me: ProcessIdentity
}

export const thisHost = (clock: Clock = systemClock): LabHost => {
  const table = createProcessTable()
  const me = identify(table, process.pid)
  if (!me) throw new LabError('usage', 'this system does not tell its processes: neither /proc nor "ps" is there')
  return { clock, table, servers: new ServerProcesses(table, clock), me }
}
