import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { FairQueue, type JobOwner } from '../../base/fair-queue.js'
import { LIMITS } from '../../base/limits.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { Random } from '../../base/random.js'

/** Hashes and compares passwords with bcrypt. `owner` identifies the client for fair queueing. */
export interface Passwords {
  /**
   * Hashes a password for a client with a token. `salt` contains the version, the cost and the salt in the format of
   * bcrypt.
   */
  hash(password: string, salt: string): Promise<string>
  isMatch(password: string, hash: string, owner: JobOwner): Promise<boolean>
  close(): Promise<void>
}

type Task = readonly [kind: 'hash' | 'compare', password: string, text: string]

interface Job {
  readonly task: Task
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

type Reply = { readonly value: string | boolean } | { readonly error: string }

/**
 * The program of the worker thread. It is a string instead of a file, so that it works unchanged when compiled, when
 * bundled and under a test loader.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads')
const bcrypt = require(workerData)
const run = { hash: bcrypt.hashSync, compare: bcrypt.compareSync }
parentPort.on('message', ([kind, password, text]) => {
  try {
    parentPort.postMessage({ value: run[kind](password, text) })
  } catch (error) {
    parentPort.postMessage({ error: String(error) })
  }
})
`

/**
 * Processes one password at a time in a separate thread, which the first password starts. In the thread pool of the
 * process, a few slow passwords would delay all disk writes.
 */
export class PasswordWorker implements Passwords {
  readonly #waiting: FairQueue<Job>
  #running: Job | undefined
  #worker: Worker | undefined
  #isClosed = false
  #hashes = 0

  constructor(waitingMax: number = LIMITS.passwordsWaitingMax, perSourceMax: number = LIMITS.passwordsPerSourceMax) {
    this.#waiting = new FairQueue({ waitingMax, perSourceMax })
  }

  /** Hashes a password. Rejects with LogicalError 503 if the full queue drops the job. So does `isMatch`. */
  hash(password: string, salt: string): Promise<string> {
    // The limit per address applies only to clients without a token, so each hash counts as a separate source.
    return this.#add(['hash', password, salt], { source: `hash ${this.#hashes++}`, name: '' })
  }

  isMatch(password: string, hash: string, owner: JobOwner): Promise<boolean> {
    return this.#add(['compare', password, hash], owner)
  }

  /** Stops the thread and rejects waiting jobs. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#failAll(new LogicalError('unavailable', 'the server is stopping'))
    await this.#worker?.terminate()
  }

  #add<T>(task: Task, owner: JobOwner): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) reject(new LogicalError('unavailable', 'the server is stopping'))
      else {
        const dropped = this.#waiting.add({ task, resolve: resolve as Job['resolve'], reject }, owner)
        dropped?.reject(new LogicalError('unavailable', 'too many passwords are waiting for a check: try again later'))
        this.#next()
      }
    })
  }

  #next(): void {
    if (this.#running) return
    this.#running = this.#waiting.shift()
    if (!this.#running) {
      // An idle thread does not keep the process alive.
      this.#worker?.unref()
      return
    }
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#worker.postMessage(this.#running.task)
  }

  #start(): Worker {
    const bcrypt = createRequire(import.meta.url).resolve('bcrypt')
    const worker = new Worker(PROGRAM, { eval: true, workerData: bcrypt, execArgv: [], env: {} })
    worker.on('message', (reply: Reply) => {
      const job = this.#running
      this.#running = undefined
      if ('error' in reply) job?.reject(new Error(reply.error))
      else job?.resolve(reply.value as never)
      this.#next()
    })
    worker.once('error', (error) => {
      this.#worker = undefined
      this.#failAll(error)
    })
    return worker
  }

  #failAll(error: unknown): void {
    const jobs = [...(this.#running ? [this.#running] : []), ...this.#waiting.clear()]
    this.#running = undefined
    for (const { reject } of jobs) reject(error)
  }
}

const COST = 10
const PASSWORD_BYTES_MAX = 72
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const BCRYPT_BASE64 = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * A hash that matches no password. A login with an unknown user name is compared with this hash, so that it takes as
 * long as any other login.
 */
const UNKNOWN_USER_HASH = `$2b$${COST}$${'.'.repeat(53)}`

/** Hashes a password with a new salt. Rejects with LogicalError 400 for a password longer than bcrypt supports. */
export const hashPassword = async (passwords: Passwords, password: string, random: Random): Promise<string> => {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) {
    throw invalid(`bcrypt: password length exceeds ${PASSWORD_BYTES_MAX} bytes`)
  }
  return passwords.hash(password, `$2b$${COST}$${encodeSalt(random.bytes(16))}`)
}

/**
 * Returns a bcrypt hash with the prefix `$2b$` instead of the equivalent prefixes `$2a$` and `$2y$`. Throws
 * LogicalError 400 for any other text, and for a cost that is too high.
 */
export const parsePasswordHash = (text: string): string => {
  const match = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$([./A-Za-z0-9]{53})$/.exec(text)
  if (!match) throw invalid('"password_hash" is not a bcrypt hash')
  if (Number(match[1]) > LIMITS.bcryptCostMax) {
    throw invalid(`"password_hash" has a cost of more than ${LIMITS.bcryptCostMax}`)
  }
  return `$2b$${match[1]}$${match[2]}`
}

/** Returns whether the password is correct. An unknown user takes the same time as a wrong password. */
export const isPassword = async (
  passwords: Passwords,
  password: string,
  hash: string | undefined,
  owner: JobOwner,
): Promise<boolean> => {
  const isEqual = await passwords.isMatch(password, hash ?? UNKNOWN_USER_HASH, owner)
  return isEqual && hash !== undefined
}

/** Returns the owner of a queued password: the client's address (for IPv6, its /64 network) and the user name. */
export const ownerOf = (address: string, name: string): JobOwner => {
  const [head = ''] = address.split('::')
  return { source: address.includes(':') ? head.split(':').slice(0, 4).join(':') : address, name }
}

/**
 * Encodes 16 bytes as 22 characters in the base64 of bcrypt, which only differs from standard base64 in its alphabet.
 */
const encodeSalt = (bytes: Buffer): string =>
  bytes
    .toString('base64')
    .replace(/=+$/, '')
    .replace(/./g, (letter) => BCRYPT_BASE64.charAt(BASE64.indexOf(letter)))
