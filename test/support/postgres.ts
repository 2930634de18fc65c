import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { findPostgres } from '../../scripts/support/tiers.js'
import { randomSinglePorts } from '../../src/lab/model/ports.js'
import { until } from './until.js'

/** PostgreSQL does not run as root. Debian has this user and group. */
const NOBODY = 65534

const asUser = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

export const ROOT_PASSWORD = 'root-password'

/** A PostgreSQL server in its own process and temporary directory. Its root user is `admin`. */
export class PostgresProcess {
  readonly #bin: string
  readonly #directory: string
  readonly #port: number
  #child: ChildProcess | undefined

  private constructor(bin: string, directory: string, port: number) {
    this.#bin = bin
    this.#directory = directory
    this.#port = port
  }

  /** Starts a server that stops at the end of the test. */
  static async start(): Promise<PostgresProcess> {
    const bin = findPostgres()
    if (!bin) throw new Error('no PostgreSQL server was found')
    const directory = mkdtempSync(path.join(tmpdir(), 'understudy-postgres-'))
    const data = path.join(directory, 'data')
    const passwordFile = path.join(directory, 'password')
    writeFileSync(passwordFile, ROOT_PASSWORD)
    mkdirSync(data, { mode: 0o700 })
    if (asUser.uid !== undefined) for (const file of [directory, data, passwordFile]) chownSync(file, NOBODY, NOBODY)
    chmodSync(directory, 0o700)
    const flags = ['-D', data, '-U', 'admin', '-A', 'scram-sha-256', '--pwfile', passwordFile, '-N', '--no-locale']
    const made = spawnSync(path.join(bin, 'initdb'), flags, { ...asUser, cwd: directory, encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
    const [port = 0] = await randomSinglePorts(1)
    const postgres = new PostgresProcess(bin, directory, port)
    onTestFinished(() => postgres.#remove())
    await postgres.start()
    return postgres
  }

  get port(): number {
    return this.#port
  }

  /** The connection URL for the secrets engine. */
  get url(): string {
    return `postgresql://{{username}}:{{password}}@127.0.0.1:${this.#port}/postgres?sslmode=disable`
  }

  /** Starts the process. Resolves when the server accepts connections. */
  async start(): Promise<void> {
    const settings = ['fsync=off', 'listen_addresses=127.0.0.1', `unix_socket_directories=${this.#directory}`]
    const flags = ['-D', path.join(this.#directory, 'data'), '-p', String(this.#port)]
    const options = { ...asUser, cwd: this.#directory, stdio: 'ignore' } as const
    const child = spawn(
      path.join(this.#bin, 'postgres'),
      [...flags, ...settings.flatMap((set) => ['-c', set])],
      options,
    )
    this.#child = child
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`postgres exited with status ${child.exitCode}`)
      return this.canLogIn('admin', ROOT_PASSWORD)
    })
  }

  /** Stops the process with an immediate shutdown. */
  async stop(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGQUIT')
    await ended
  }

  /** Returns the first column of a query as the root user. */
  query(text: string, values: readonly unknown[] = [], password = ROOT_PASSWORD): Promise<string[]> {
    return this.#as('admin', password, async (client) => {
      const { rows } = await client.query({ text, values: [...values], rowMode: 'array' })
      return rows.map((row) => String(row[0]))
    })
  }

  /** Returns the names of all roles except the root user and the roles of PostgreSQL itself. */
  users(password?: string): Promise<string[]> {
    const text = "SELECT rolname FROM pg_roles WHERE rolname <> 'admin' AND rolname NOT LIKE 'pg\\_%' ORDER BY 1"
    return this.query(text, [], password)
  }

  async canLogIn(user: string, password: string): Promise<boolean> {
    try {
      await this.#as(user, password, async (client) => void (await client.query('SELECT 1')))
      return true
    } catch {
      return false
    }
  }

  async #as<T>(user: string, password: string, work: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({ host: '127.0.0.1', port: this.#port, database: 'postgres', user, password })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  async #remove(): Promise<void> {
    await this.stop()
    await rm(this.#directory, { recursive: true, force: true })
  }
}
