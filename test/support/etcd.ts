import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { ETCD } from '../../scripts/support/tiers.js'
import { systemClock } from '../../src/base/clock.js'
import { createSystemRandom } from '../../src/base/random.js'
import { randomSinglePorts } from '../../src/lab/model/ports.js'
import { EtcdConnection } from '../../src/storage/shared-log/etcd/etcd-connection.js'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A question to etcd itself. */
export const ask = async (etcd: EtcdProcess, path: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await fetch(`http://${etcd.address}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  return (await answer.json()) as Record<string, unknown>
}

const FILLING = { key: base64('/somebody-else/'), range_end: base64('/somebody-else0') }

/** Somebody else whose keys are in the same etcd leaves no room in it. */
export const fill = async (etcd: EtcdProcess): Promise<void> => {
  const value = Buffer.alloc(1024 * 1024, 'x').toString('base64')
  for (let count = 0; ; count++) {
    const key = base64(`/somebody-else/${count}`)
    if ('error' in (await ask(etcd, 'kv/put', { key, value }))) return
  }
}

/** What an operator does about a full etcd. It may fill again at once: what waits to be written has its turn, too. */
export const makeRoom = async (etcd: EtcdProcess): Promise<void> => {
  const { header } = (await ask(etcd, 'kv/deleterange', FILLING)) as { header: { revision: string } }
  await ask(etcd, 'kv/compaction', { revision: header.revision, physical: true })
  await ask(etcd, 'maintenance/defragment', {})
  const { alarms = [] } = (await ask(etcd, 'maintenance/alarm', { action: 'GET' })) as { alarms?: object[] }
  for (const alarm of alarms) await ask(etcd, 'maintenance/alarm', { ...alarm, action: 'DEACTIVATE' })
}

interface Options {
  readonly flags: readonly string[]
  readonly scheme: 'http' | 'https'
}

/** Files with PEM, of an etcd that knows its clients by certificates. */
export interface EtcdTlsFiles {
  readonly ca: string
  readonly certificate: string
  readonly privateKey: string
}

/** An etcd of one member as a process, with a directory that outlives it. */
export class EtcdProcess {
  readonly port: number
  readonly #peerPort: number
  readonly #directory: string
  readonly #flags: readonly string[]
  /** Where it tells how it is, to anybody. */
  readonly #healthPort: number
  readonly #scheme: 'http' | 'https'
  #child: ChildProcess | undefined

  private constructor(ports: readonly number[], directory: string, options: Options) {
    const [port = 0, peerPort = 0, healthPort = 0] = ports
    this.port = port
    this.#peerPort = peerPort
    this.#healthPort = healthPort
    this.#directory = directory
    this.#flags = options.flags
    this.#scheme = options.scheme
  }

  static start(...flags: string[]): Promise<EtcdProcess> {
    return EtcdProcess.#start({ flags, scheme: 'http' })
  }

  static startWithTls({ ca, certificate, privateKey }: EtcdTlsFiles): Promise<EtcdProcess> {
    const own = ['--cert-file', certificate, '--key-file', privateKey]
    return EtcdProcess.#start({ flags: ['--client-cert-auth', '--trusted-ca-file', ca, ...own], scheme: 'https' })
  }

  /** One that does not run yet. */
  static prepare(...flags: string[]): Promise<EtcdProcess> {
    return EtcdProcess.#prepare({ flags, scheme: 'http' })
  }

  static async #start(options: Options): Promise<EtcdProcess> {
    const etcd = await EtcdProcess.#prepare(options)
    await etcd.run()
    return etcd
  }

  static async #prepare(options: Options): Promise<EtcdProcess> {
    const directory = await mkdtemp(path.join(tmpdir(), 'understudy-etcd-'))
    return new EtcdProcess(await randomSinglePorts(3), directory, options)
  }

  /** Where it keeps what it holds, beside a log of what it was asked. */
  get databaseFile(): string {
    return path.join(this.#directory, 'member', 'snap', 'db')
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Starts the process, again after a kill, and resolves when it answers. */
  async run(): Promise<void> {
    const program = ETCD.find((file) => existsSync(file))
    if (!program) throw new Error('no etcd was found')
    const [client, peer] = [`${this.#scheme}://${this.address}`, `http://127.0.0.1:${this.#peerPort}`]
    const child = spawn(
      program,
      [
        ...['--name', 'one', '--data-dir', this.#directory, '--log-level', 'error', '--logger', 'zap'],
        ...['--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `one=${peer}`],
        ...['--listen-metrics-urls', `http://127.0.0.1:${this.#healthPort}`],
        ...this.#flags,
      ],
      { stdio: 'ignore' },
    )
    this.#child = child
    const ended = new Promise<never>((_, reject) => {
      child.once('exit', (code) => reject(new Error(`etcd has ended with ${code}`)))
    })
    ended.catch(() => undefined)
    await Promise.race([this.#whenHealthy(), ended])
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  /** As kill -9 does. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  async destroy(): Promise<void> {
    await this.kill()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #whenHealthy(): Promise<void> {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${this.#healthPort}/health`).catch(() => undefined)
      if (answer?.ok) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Starts an etcd, until the test is over. */
export const startEtcd = async (...flags: string[]): Promise<EtcdProcess> => {
  const etcd = await EtcdProcess.start(...flags)
  onTestFinished(() => etcd.destroy())
  return etcd
}

/** Starts an etcd, and connects to it, until the test is over. */
export const startConnectedEtcd = async (...flags: string[]) => {
  const etcd = await startEtcd(...flags)
  const options = { clock: systemClock, random: createSystemRandom(), requestTimeoutMs: 5000 }
  const connection = new EtcdConnection({ ...options, addresses: [etcd.address] })
  onTestFinished(() => connection.close())
  return { etcd, connection }
}
