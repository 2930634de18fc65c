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
  /** The URL at which etcd serves clients. Default: a socket file that only this user can access. */
  readonly clientUrl?: string
  /** Called with each line of etcd's log. */
  readonly onLine: (line: string) => void
  /** Called each time etcd exits by itself. etcd is restarted after a pause. */
  readonly onRestart: (ended: EtcdEnding) => void
  /** Called when the other members have removed this member permanently. etcd is not restarted then. */
  readonly onRemoved?: () => void
}

interface EtcdEnding {
  /** The exit status: 128 + n after signal n; null if etcd could not be started. */
  readonly code: number | string | null
  /** The last messages of etcd's log, one per line. */
  readonly lines: string
  readonly pauseMs: number
}

/**
 * A shell script that runs etcd. The server process writes to its standard input:
 * - When the script reads a line, it sends SIGTERM to etcd.
 * - When it reads another line or the input closes, it kills etcd and removes the working directory. The input also
 *   closes when the server process is killed, so etcd never outlives the server.
 * - If etcd exits by itself, the script exits with the same status.
 */
const SCRIPT = [
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
/** Time in ms after which a running etcd counts as successfully started. */
const STARTED_MS = 30_000
/** Time in ms for the member to hand over its Raft leadership before it is killed. */
const HANDOVER_MS = 3000
/** Number of log lines that are reported when etcd exits. */
const LINES_KEPT = 5
/** Matches the log line of a member that the other members have removed. The member then exits normally. */
const REMOVED = /data-dir used by this member must be removed|permanently removed from the cluster/

/** An etcd child process. It is restarted when it exits, and stopped when this process exits for any reason. */
export class EtcdChild {
  readonly #options: EtcdChildOptions
  readonly #stop = new AbortController()
  /**
   * The working directory of etcd. It is outside the data directory, since some container file systems do not support
   * sockets.
   */
  readonly #directory = makeTemporaryDirectory('etcd')
  #child: ChildProcess | undefined
  #running: Promise<void> = Promise.resolve()
  #lines: string[] = []
  #isRemoved = false
  #onEnd: (reason: string) => void = () => undefined

  constructor(options: EtcdChildOptions) {
    this.#options = options
  }

  /** The address of the socket file, in the format of gRPC. */
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
    const late = this.#options.clock.setTimer(HANDOVER_MS, () => this.#child?.stdin?.end())
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
      if (clock.monotonic() - sinceMs > STARTED_MS) backoff.reset()
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
      // A minimal environment, so that the environment of the server does not configure etcd.
      const unsupported = ARCHITECTURES[process.arch]
      const env = {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        SOCKET,
        ...(unsupported === undefined ? {} : { ETCD_UNSUPPORTED_ARCH: unsupported }),
      }
      const child = spawn('/bin/sh', ['-c', SCRIPT, program, ...flags, ...client], {
        stdio: ['pipe', 'ignore', 'pipe'],
        env,
        cwd: this.#directory,
        // Ctrl+C in a terminal signals the whole process group. It must not stop etcd before the server.
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

/** Values of ETCD_UNSUPPORTED_ARCH per architecture. On these architectures etcd starts only with this variable. */
const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { arm64: 'arm64', arm: 'arm' }

/** Returns the message of a JSON log line. Returns any other line unchanged. */
const messageOf = (line: string): string =>
  attempt(() => {
    const { msg, error } = JSON.parse(line) as { msg?: string; error?: string }
    return error === undefined ? msg : `${msg}: ${error}`
  }) ?? line
