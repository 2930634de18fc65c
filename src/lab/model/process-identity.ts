import type { ProcessTable } from './process-table.js'

/** Identifies a process uniquely on this machine, even if its process ID is reused. */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTime: string
}

export const identify = (table: ProcessTable, pid: number): ProcessIdentity | undefined => {
  const facts = table.find(pid)
  return facts && { pid, startTime: facts.startTime }
}

export const isAlive = (table: ProcessTable, { pid, startTime }: ProcessIdentity): boolean =>
  table.find(pid)?.startTime === startTime
