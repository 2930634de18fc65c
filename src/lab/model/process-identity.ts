import type { ProcessTable } from './process-table.js'

/** Tells one process from all others of this machine, also when its number is given out again. */
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
