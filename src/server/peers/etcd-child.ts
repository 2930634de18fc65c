import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Backoff } from '../../base/backoff.js'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'

interface EtcdChildOptions {
  /** Its path. */
  readonly program: string
  /** But for where clients reach it. */
  readonly flags: readonly string[]
  /** Told when the others have taken this member out for good: it is not started again. */
  readonly onRemoved: () => void
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/**
 * Runs the program, and tells it to end when a line comes. When there is nobody any more who could send one it kills the program,
 * and removes the directory: so nothing is left of a server that was killed. Where the program ends before, nobody kills.
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

/** etcd wants the form of a host with a port, and makes a file of that name in the directory that it is started in. */
const SOCKET = 'client:1'
const CLIENT_FLAGS = ['--listen-client-urls', `unix://${SOCKET}`, '--advertise-client-urls', `unix://${SOCKET}`]

const RESTART = { initialMs: 250, maxMs: 10_000 }
/** What has run for so long has not failed at its start. */
const SOUND_MS = 30_000
/** For the leadership among the members to be handed on. */
const END_MS = 3000
const LINES_KEPT = 5
/** What a member says that the others have taken out; it ends as if it had been told to. */
const REMOVED = /data-dir used by this member must be removed|permanently removed from the cluster/

/** A member of the nodes' etcd as a process beside the server: started again when it ends, and ended with the server. */
export class EtcdChild {
  readonly #options: EtcdChildOptions
  readonly #stop = new AbortController()
  /** Not beside the data: not every file system that a container is given has sockets. */
  readonly #directory = makeTemporaryDirectory('etcd')
  #child: ChildProcess | undefined
  #running: Promise<void> = Promise.resolve()
  #lines: string[] = []
  #isRemoved = false
  #onEnd: (reason: string) => void = () => undefined

  constructor(options: EtcdChildOptions) {
    this.#options = options
  }

  /** Where clients reach it, as gRPC writes it: nobody but this user does. */
  get address(): string {
    return `unix:${path.join(this.#directory, SOCKET)}`
  }

  /** `onEnd`: told why, each time that it ends by itself. */
  start(onEnd: (reason: string) => void = () => undefined): void {
    this.#onEnd = onEnd
    this.#running = this.#keepRunning()
  }

  /** Resolves when it is gone. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'))
    this.#child?.stdin?.write('end\n')
    const late = this.#options.clock.setTimer(END_MS, () => this.#child?.stdin?.end())
    await this.#running
    late.cancel()
    await rm(this.#directory, { recursive: true, force: true })
  }

  async #keepRunning(): Promise<void> {
    const { clock, random, log, onRemoved } = this.#options
    const backoff = new Backoff(RESTART, random)
    while (!this.#stop.signal.aborted) {
      const sinceMs = clock.monotonic()
      const code = await this.#run()
      if (this.#stop.signal.aborted) return
      const lines = this.#lines.join('\n')
      this.#onEnd(`etcd has ended with ${code}: ${lines}`)
      if (this.#isRemoved) return onRemoved()
      if (clock.monotonic() - sinceMs > SOUND_MS) backoff.reset()
      const pauseMs = backoff.next()
      log.error('the etcd of this node has ended and is started again', { code, lines, pauseMs })
      await clock.sleep(pauseMs, this.#stop.signal).catch(() => undefined)
    }
  }

  /** Resolves to the exit status. */
  #run(): Promise<number | string | null> {
    this.#lines = []
    return new Promise((resolve) => {
      const { program, flags } = this.#options
      // One that was killed has left it, and nobody can listen on it again.
      rmSync(path.join(this.#directory, SOCKET), { force: true })
      // What etcd reads from the environment is not the server's to be read so.
      const unsupported = ARCHITECTURES[process.arch]
      const env = {
        PATH: '/usr/local/bin:/usr/bin:/bin',
        SOCKET,
        ...(unsupported === undefined ? {} : { ETCD_UNSUPPORTED_ARCH: unsupported }),
      }
      const child = spawn('/bin/sh', ['-c', WATCH, program, ...flags, ...CLIENT_FLAGS], {
        stdio: ['pipe', 'ignore', 'pipe'],
        env,
        cwd: this.#directory,
        // The keys of a terminal that end the server do not end etcd before it.
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
    this.#options.log.debug('etcd', { line })
  }
}

/** Where etcd wants to be told that nobody has tried it much. */
const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { arm64: 'arm64', arm: 'arm' }

/** etcd's lines are JSON. */
const messageOf = (line: string): string => {
  try {
    const { msg, error } = JSON.parse(line) as { msg?: string; error?: string }
    return error === undefined ? (msg ?? line) : `${msg}: ${error}`
  } catch {
    return line
  }
}
