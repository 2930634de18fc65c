import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { ApiClient } from '../../src/client/api-client.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import { freePorts } from './local-config.js'

const ENTRY = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')
const WAIT_MS = 90_000
const { PATH, UNDERSTUDY_RANDOM_PORTS } = process.env

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** If false, standard output and error are not read, so their pipes fill up. */
  readonly isRead?: boolean
}

/** The compiled program as a child process, with its output. Disposing of it kills the process. */
export class Program implements AsyncDisposable {
  stdout = ''
  stderr = ''
  readonly #child: ChildProcess
  readonly #exit: Promise<number | string>

  constructor(args: readonly string[], { env = {}, cwd, isRead = true }: ProgramOptions = {}) {
    this.#child = spawn(process.execPath, [ENTRY, ...args], {
      cwd,
      env: { PATH, HOME: tmpdir(), UNDERSTUDY_RANDOM_PORTS, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exit = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(code ?? String(signal)))
    })
    if (!isRead) return
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += String(chunk)
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += String(chunk)
    })
  }

  /** Calls `act` after the first bytes of standard output. */
  onFirstOutput(act: () => void): void {
    this.#child.stdout?.once('data', act)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Exit status, or the name of the signal that ended the process. */
  get exit(): Promise<number | string> {
    return this.#exit
  }

  /** Resolves to the exit status when the process has ended and all output is read. */
  async end(): Promise<number | string> {
    const status = await this.#exit
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream && !stream.readableEnded && stream.readableFlowing)
        await new Promise((done) => stream.once('end', done))
    }
    return status
  }

  /** Closes standard output, as a reader such as `head` does. */
  stopReading(): void {
    this.#child.stdout?.destroy()
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Waits until the program has printed a text. */
  async untilPrinted(text: string): Promise<void> {
    const fact = async () => {
      if (this.stdout.includes(text) || this.stderr.includes(text)) return undefined
      return this.#child.exitCode === null ? 'not printed' : `it ended with ${this.#child.exitCode}`
    }
    await waitFor(systemClock, `"${text}" to be printed`, fact, WAIT_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.stdout}\n${this.stderr}`)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exit
  }
}

export const STARTED = '==> Vault server started! Log data will stream in below:'

/** A temporary directory for the configuration files of one test. */
export class TestDirectory implements Disposable {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))

  path(name: string): string {
    return path.join(this.directory, name)
  }

  write(name: string, text: string): string {
    writeFileSync(this.path(name), text)
    return this.path(name)
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Disposes of an object at the end of the test. */
export const disposeAfterTest = <T extends AsyncDisposable | Disposable>(one: T): T => {
  onTestFinished(async () => {
    if (Symbol.asyncDispose in one) await one[Symbol.asyncDispose]()
    else one[Symbol.dispose]()
  })
  return one
}

/**
 * Writes the configuration of a server on free ports. `more` is appended; `rewrite` writes the file again with another
 * ending.
 */
export const writeServerConfig = async (at: TestDirectory, more = '', { name = 'server', data = 'data' } = {}) => {
  const { api, cluster } = await freePorts()
  const rewrite = (text: string) =>
    at.write(
      `${name}.hcl`,
      `listener "tcp" {
  address = "127.0.0.1:${api}"
  cluster_address = "127.0.0.1:${cluster}"
  tls_disable = true
}
storage "raft" {
  path = "${at.path(data)}"
}
${text}`,
    )
  const address = `http://127.0.0.1:${api}`
  return { at, api, cluster, config: rewrite(more), rewrite, address, client: new ApiClient({ address }) }
}

/** Runs the program to its end. */
export const runProgram = async (
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<{ status: number | string; stdout: string; stderr: string }> => {
  await using program = new Program(args, options)
  const status = await program.end()
  return { status, stdout: program.stdout, stderr: program.stderr }
}
