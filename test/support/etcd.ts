import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { ETCD } from '../../scripts/support/tiers.js'
import { systemClock } from '../../src/base/clock.js'
import { createSystemRandom } from '../../src/base/random.js'
import { randomSinglePorts } from '../../src/lab/model/ports.js'
import { EtcdConnection } from '../../src/storage/shared-log/etcd/etcd-connection.js'
import { until } from './until.js'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Sends a request to the JSON gateway of etcd. */
export const ask = async (etcd: EtcdProcess, path: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await fetch(`http://${etcd.address}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  return (await answer.json()) as Record<string, unknown>
}

const OTHER_KEYS = { key: base64('/other-client/'), range_end: base64('/other-client0') }

/** Writes keys outside of the prefix of the test until the quota of etcd is full. */
export const fill = async (etcd: EtcdProcess): Promise<void> => {
  const value = Buffer.alloc(1024 * 1024, 'x').toString('base64')
  for (let count = 0; ; count++) {
    const key = base64(`/other-client/${count}`)
    if ('error' in (await ask(etcd, 'kv/put', { key, value }))) return
  }
}

/** Deletes these keys and clears the alarm, as an operator does. Pending writes may fill etcd again at once. */
export const freeSpace = async (etcd: EtcdProcess): Promise<void> => {
  const { header } = (await ask(etcd, 'kv/deleterange', OTHER_KEYS)) as { header: { revision: string } }
  await ask(etcd, 'kv/compaction', { revision: header.revision, physical: true })
  await ask(etcd, 'maintenance/defragment', {})
  const { alarms = [] } = (await ask(etcd, 'maintenance/alarm', { action: 'GET' })) as { alarms?: object[] }
  for (const alarm of alarms) await ask(etcd, 'maintenance/alarm', { ...alarm, action: 'DEACTIVATE' })
}

/** An etcd server with one member in its own process. Its directory survives a kill. */
export class EtcdProcess {
  readonly #scheme: 'http' | 'https'
  readonly #flags: readonly string[]
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'understudy-etcd-'))
  /** The ports for clients, for peers, and for health checks without TLS. */
  readonly #ports: readonly number[]
  #child: ChildProcess | undefined

  private constructor(scheme: 'http' | 'https', flags: readonly string[], ports: readonly number[]) {
    this.#scheme = scheme
    this.#flags = flags
    this.#ports = ports
  }

  /** Creates an etcd without starting it. */
  static async prepare(scheme: 'http' | 'https', ...flags: string[]): Promise<EtcdProcess> {
    return new EtcdProcess(scheme, flags, await randomSinglePorts(3))
  }

  get port(): number {
    return this.#ports[0] ?? 0
  }

  /** The database file. */
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

  /** Starts the process. Resolves when it is healthy. */
  async run(): Promise<void> {
    const program = ETCD.find((file) => existsSync(file))
    if (!program) throw new Error('no etcd was found')
    const [, peerPort, healthPort] = this.#ports
    const [client, peer] = [`${this.#scheme}://${this.address}`, `http://127.0.0.1:${peerPort}`]
    const metrics = `http://127.0.0.1:${healthPort}`
    const child = spawn(
      program,
      [
        ...['--name', 'one', '--data-dir', this.#directory, '--log-level', 'error', '--logger', 'zap'],
        ...['--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `one=${peer}`],
        ...['--listen-metrics-urls', metrics],
        ...this.#flags,
      ],
      { stdio: 'ignore' },
    )
    this.#child = child
    const ended = new Promise<never>((_, reject) => {
      child.once('exit', (code) => reject(new Error(`etcd has ended with ${code}`)))
    })
    ended.catch(() => undefined)
    const isHealthy = async () => (await fetch(`${metrics}/health`).catch(() => undefined))?.ok === true
    await Promise.race([until(isHealthy), ended])
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await exited
  }

  async destroy(): Promise<void> {
    await this.kill()
    await rm(this.#directory, { recursive: true, force: true })
  }
}

/** Starts an etcd until the end of the test. */
export const startEtcd = async (...flags: string[]): Promise<EtcdProcess> => {
  const etcd = await EtcdProcess.prepare('http', ...flags)
  onTestFinished(() => etcd.destroy())
  await etcd.run()
  return etcd
}

/** Starts an etcd and connects to it until the end of the test. */
export const startConnectedEtcd = async (...flags: string[]) => {
  const etcd = await startEtcd(...flags)
  const options = { clock: systemClock, random: createSystemRandom(), requestTimeoutMs: 5000 }
  const connection = new EtcdConnection({ ...options, addresses: [etcd.address] })
  onTestFinished(() => connection.close())
  return { etcd, connection }
}
