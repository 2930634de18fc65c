import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { LabRecord } from '../../src/lab/model/cluster.js'
import { createProcessTable } from '../../src/lab/model/process-table.js'
import { Program, type ProgramOptions, runProgram } from './program.js'

/** A separate state directory for labs. Disposing of it kills all processes that still use it. */
export class LabHome implements AsyncDisposable {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'understudy-home-'))

  get labs(): string {
    return path.join(this.directory, 'understudy', 'labs')
  }

  private get options(): ProgramOptions {
    return { env: { XDG_STATE_HOME: this.directory } }
  }

  run(...args: string[]) {
    return runProgram(args, this.options)
  }

  /** Runs a command. Throws an Error unless its exit status is 0. */
  async passes(...args: string[]) {
    const done = await this.run(...args)
    if (done.status !== 0) throw new Error(`understudy ${args.join(' ')}: ${done.status}\n${done.stderr}`)
    return done
  }

  /** Runs the `vault`-named command line against a cluster or a node of the lab `default`. */
  vault(target: string, ...args: string[]) {
    return this.run('exec', target, '--', process.execPath, 'dist/main.js', 'vault', ...args)
  }

  begin(...args: string[]): Program {
    return new Program(args, this.options)
  }

  record(lab: string): LabRecord {
    return JSON.parse(readFileSync(path.join(this.labs, lab, 'lab.json'), 'utf8')) as LabRecord
  }

  /** Returns the names of labs with files. */
  left(): string[] {
    return existsSync(this.labs) ? readdirSync(this.labs) : []
  }

  /** Returns the PIDs of all processes with an argument below this directory: servers and lab daemons. */
  processes(): number[] {
    return this.#started('')
  }

  servers(): number[] {
    return this.#started('server')
  }

  #started(command: string): number[] {
    return runningProcesses()
      .filter(({ args }) => args.some((argument) => argument.includes(this.directory)))
      .filter(({ args }) => command === '' || args.includes(command))
      .map(({ pid }) => pid)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.processes()) killIfThere(pid)
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Kills a process. It may have ended already: an etcd ends with its parent process. */
const killIfThere = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Returns the processes of this machine with their arguments. */
export const runningProcesses = (): { readonly pid: number; readonly args: readonly string[] }[] =>
  createProcessTable()
    .list()
    .map(({ pid }) => ({ pid, args: argumentsOf(pid) }))

const argumentsOf = (pid: number): string[] => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}
