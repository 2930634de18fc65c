import { attempt } from '../../base/attempt.js'
import type { Facilities } from '../../base/facilities.js'
import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Backoff } from '../../base/backoff.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'

interface EtcdChildOptions extends Pick<Facilities, 'clock' | 'random'> {
  readonly program: string
  /** All flags except the client address. */
  readonly flags: readonly string[]
  /** The URL for clients. Default: a socket file that only this user can access. */
  readonly clientUrl?: string
  /** Called with each line of its log. */
  readonly onLine: (line: string) => void
  /** Called each time etcd has exited by itself. After a pause, it is restarted. */
  readonly onRestart: (ended: EtcdEnding) => void
  /** Called when the other members have permanently removed this member. It is not restarted. */
  readonly onRemoved?: () => void
}

interface EtcdEnding {
  /** The exit status: 128 + n after signal n. Null if it could not be started. */
  readonly code: number | string | null
  /** The last messages of its log. */
  readonly lines: string
  readonly pauseMs: number
}

/**
 * A shell script that runs etcd. When it reads a line from its standard input, it stops etcd. When the input closes, it
 * kills etcd and removes the directory, so that nothing remains of a killed server. If etcd exits first, it kills nothing.
 */
const WATCH = [
  'exec 3<&0',
  '"$0" "$@" </dev/null 3<&- &',
  'etcd=$!',
  '{ if read -r line <&3; then kill -TERM $etcd; read -r line <&3; fi; trap "" TERM',
  'kill -KILL $etcd; rm -f "$SOCKET"; rmdir "$PWD"; } >/dev/null 2>&1 &',
  'killer=$!',
  'wait $etcd; code=$?',
  'kill $killer; exit $code',
].join('\n')

/** etcd requires the form host:port, and creates a socket file of that name in its working directory. */
const SOCKET = 'client:1'

const RESTART = { initialMs: 250, maxMs: 10_000 }
/** Time in ms after which a process counts as successfully started. */
const SOUND_MS = 30_000
/** Time for the member to hand over its Raft leadership. */
const END_MS = 3000
const LINES_KEPT = 5
/** Matches the log line of a member that the other members have removed. The member then exits as if it was stopped. */
const REMOVED = /data-dir used by this member must be removed|permanently removed from the cluster/

/** An etcd child process. It is restarted when it exits, and stopped when this process exits for any reason. */
export class EtcdChild {
  readonly #options: EtcdChildOptions
  readonly #stop = new AbortController()
  /** Outside the data directory: some container file systems do not support sockets. */
  readonly #directory = makeTemporaryDirectory('etcd')
  #child: ChildProcess | undefined
  #running: Promise<void> = Promise.resolve()
  #lines: string[] = []
  #isRemoved = false
  #onEnd: (reason: string) => void = () => undefined

  constructor(options: EtcdChildOptions) {
    this.#options = options
  }

  /** The address of the socket file in gRPC format. */
  get address(): string {
    return `unix:${path.join(this.#directory, SOCKET)}`
  }

  /** Starts the process. `onEnd` is called with the reason each time it exits by itself. */
  start(onEnd: (reason: string) => void = () => undefined): void {
    this.#onEnd = onEnd
    this.#running = this.#keepRunning()
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('this process is stopping'))
    this.#child?.stdin?.write('end\n')
    const late = this.#options.clock.setTimer(END_MS, () => this.#child?.stdin?.end())
    await this.#running
    late.cancel()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #keepRunning(): Promise<void> {
    const { clock, random, onRestart, onRemoved } = this.#options
    const backoff = new Backoff(RESTART, random)
    while (!this.#stop.signal.aborted) {
      const sinceMs = clock.monotonic()
      const code = await this.#run()
      if (this.#stop.signal.aborted) return
      const lines = this.#lines.join('\n')
      this.#onEnd(`etcd exited with ${code}: ${lines}`)
      if (this.#isRemoved) return onRemoved?.()
      if (clock.monotonic() - sinceMs > SOUND_MS) backoff.reset()
      const pauseMs = backoff.next()
      onRestart({ code, lines, pauseMs })
      await clock.sleep(pauseMs, this.#stop.signal).catch(() => undefined)
    }
  }

  #run(): Promise<number | string | null> {
    this.#lines = []
    return new Promise((resolve) => {
      const { program, flags, clientUrl = `unix://${SOCKET}` } = this.#options
      const client = ['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl]
      // A killed process leaves its socket file, which prevents a new process from listening.
      rmSync(path.join(this.#directory, SOCKET), { force: true })
      // Keeps the server's environment from configuring etcd.
      const unsupported = ARCHITECTURES[process.arch]
      const env = {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        SOCKET,
        ...(unsupported === undefined ? {} : { ETCD_UNSUPPORTED_ARCH: unsupported }),
      }
      const child = spawn('/bin/sh', ['-c', WATCH, program, ...flags, ...client], {
        stdio: ['pipe', 'ignore', 'pipe'],
        env,
        cwd: this.#directory,
        // A terminal's Ctrl+C stops the server, and must not stop etcd before it.
        detached: true,
      })
      this.#child = child
      child.stdin.on('error', () => undefined)
      createInterface({ input: child.stderr }).on('line', (line) => this.#read(line))
      child.once('error', (error) => {
        this.#lines.push(error.message)
        resolve(null)
      })
      child.once('close', (code, signal) => {
        child.stdin.destroy()
        resolve(code ?? signal)
      })
    })
  }

  #read(line: string): void {
    if (REMOVED.test(line)) this.#isRemoved = true
    this.#lines.push(messageOf(line))
    this.#lines.splice(0, this.#lines.length - LINES_KEPT)
    this.#options.onLine(line)
  }
}

/** Architectures on which etcd requires an explicit opt-in, since it is not fully tested there. */
const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { arm64: 'arm64', arm: 'arm' }

/** Returns the message of a log line, which is JSON. */
const messageOf = (line: string): string =>
  attempt(() => {
    const { msg, error } = JSON.parse(line) as { msg?: string; error?: string }
    return error === undefined ? msg : `${msg}: ${error}`
  }) ?? line
