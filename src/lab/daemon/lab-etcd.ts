import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Clock } from '../../base/clock.js'
import { directoriesOf, findProgram } from '../../base/programs.js'
import type { EventDraft } from '../events/event.js'
import type { LabEtcdPlan } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'

const AGAIN_MS = 500
const PLACES = ['/usr/bin', '/usr/local/bin', '/usr/sbin']

/** Finds etcd. Throws LabError `usage` with the package to install if it is not on this machine. */
export const findEtcd = (searchPath: string): Pick<LabEtcdPlan, 'program' | 'binder'> => {
  const directories = [...directoriesOf(searchPath), ...PLACES]
  const program = findProgram('etcd', directories)
  const fix = 'Debian has it in the package etcd-server; "--in-process" needs none'
  if (program === undefined) throw new LabError('usage', `clusters of several nodes need the program etcd: ${fix}`)
  return { program, binder: findProgram('setpriv', directories) }
}

export const etcdAddress = ({ ports: [client] }: LabEtcdPlan): string => `http://127.0.0.1:${client}`

/** Runs the etcd of a lab, and restarts it if it exits. The caller must close it. */
export class LabEtcd {
  readonly #plan: LabEtcdPlan
  readonly #clock: Clock
  readonly #tell: (event: EventDraft) => void
  readonly #closing = new AbortController()
  #child: ChildProcess | undefined

  constructor(
    plan: LabEtcdPlan,
    { clock, tell }: { readonly clock: Clock; readonly tell: (event: EventDraft) => void },
  ) {
    this.#plan = plan
    this.#clock = clock
    this.#tell = tell
    this.#run()
  }

  /** Stops etcd, and resolves when it has exited. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the lab goes down'))
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  #run(): void {
    const { program, binder, logFile } = this.#plan
    const [command, args] = binder ? [binder, ['--pdeathsig', 'KILL', program, ...this.#flags]] : [program, this.#flags]
    const log = openSync(logFile, 'a', 0o600)
    try {
      this.#child = spawn(command, args, { stdio: ['ignore', log, log] })
    } finally {
      closeSync(log)
    }
    this.#child.on('error', (error) => this.#ended(error.message))
    this.#child.once('exit', (status, signal) => this.#ended(String(status ?? signal)))
  }

  get #flags(): string[] {
    const { dataDir, ports } = this.#plan
    const [client, peer] = ports.map((port) => `http://127.0.0.1:${port}`)
    return [
      ...['--name', 'lab', '--data-dir', dataDir, '--log-level', 'warn', '--logger', 'zap'],
      ...['--listen-client-urls', `${client}`, '--advertise-client-urls', `${client}`],
      ...['--listen-peer-urls', `${peer}`, '--initial-advertise-peer-urls', `${peer}`],
      ...['--initial-cluster', `lab=${peer}`],
    ]
  }

  #ended(how: string): void {
    const { signal } = this.#closing
    if (signal.aborted) return
    this.#tell({ kind: 'note', details: { text: `the etcd of the lab has ended (${how}); it is started again` } })
    void this.#clock.sleep(AGAIN_MS, signal).then(
      () => this.#run(),
      () => undefined,
    )
  }
}
