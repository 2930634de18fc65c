import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { attempt } from '../../base/attempt.js'

/** A process as the system reports it. `startTime` distinguishes processes that reuse an ID. */
export interface ProcessFacts {
  readonly pid: number
  readonly startTime: string
  readonly isFrozen: boolean
  /** Whether exactly this argument is on its command line. */
  hasArgument(argument: string): boolean
}

export interface ProcessTable {
  /** Returns undefined if the process does not exist or is a zombie. */
  find(pid: number): ProcessFacts | undefined
  list(): ProcessFacts[]
}

/** Reads the processes of this machine from `/proc` if it exists, else from `ps`. */
export const createProcessTable = (): ProcessTable => (bootId() === undefined ? psTable : procTable)

const readText = (file: string): string | undefined => attempt(() => readFileSync(file, 'utf8'))

const bootId = (): string | undefined => readText('/proc/sys/kernel/random/boot_id')?.trim()

/**
 * `pid (name) state ...`: the name may contain parentheses and spaces, so fields are counted after the last
 * parenthesis.
 */
const STATE_FIELD = 0
const START_FIELD = 19

const procTable: ProcessTable = {
  find(pid) {
    const stat = readText(`/proc/${pid}/stat`)
    if (stat === undefined) return undefined
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields[STATE_FIELD] ?? ''
    if ('ZX'.includes(state)) return undefined
    return {
      pid,
      startTime: `${bootId()}:${fields[START_FIELD]}`,
      isFrozen: state === 'T',
      hasArgument: (argument) => (readText(`/proc/${pid}/cmdline`) ?? '').split('\0').includes(argument),
    }
  },
  list: () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => procTable.find(Number(name)) ?? []),
}

const PS_ROW = /^\s*(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/

const ps = (...which: string[]): ProcessFacts[] => {
  const rows = attempt(() =>
    execFileSync('ps', [...which, '-ww', '-o', 'pid=,state=,lstart=,command='], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  return (rows ?? '').split('\n').flatMap((row) => {
    const [, pid, state = '', startTime = '', command = ''] = PS_ROW.exec(row) ?? []
    if (!pid || state.startsWith('Z')) return []
    const hasArgument = (argument: string) => ` ${command} `.includes(` ${argument} `)
    return [{ pid: Number(pid), startTime, isFrozen: state.startsWith('T'), hasArgument }]
  })
}

const psTable: ProcessTable = {
  find: (pid) => ps('-p', String(pid))[0],
  list: () => ps('-ax'),
}

/** Identifies a process uniquely on this machine, even if its process ID is reused. */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTime: string
}

/**
 * The recorded process of a server that crashed in an in-process lab, whose process continues. No process matches it.
 */
export const NO_PROCESS: ProcessIdentity = { pid: 0, startTime: '' }

export const identify = (table: ProcessTable, pid: number): ProcessIdentity | undefined => {
  const facts = table.find(pid)
  return facts && { pid, startTime: facts.startTime }
}

export const isAlive = (table: ProcessTable, { pid, startTime }: ProcessIdentity): boolean =>
  table.find(pid)?.startTime === startTime
