import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { FairQueue, type JobOwner } from '../../base/fair-queue.js'
import { LIMITS } from '../../base/limits.js'
import { LogicalError } from '../../logical/errors.js'

/** bcrypt, wherever it runs. `owner`: who waits for it. */
export interface Passwords {
  /** `salt`: with version and cost, as bcrypt writes it. */
  hash(password: string, salt: string, owner?: JobOwner): Promise<string>
  isMatch(password: string, hash: string, owner?: JobOwner): Promise<boolean>
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
 * The program of the thread. It is a text and no file, so that it is the same in the compiled program, in its bundle and
 * under a test's loader.
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
 * Works on one password at a time, in a thread of its own: in the threads that all of the process shares a few slow
 * passwords would hold up every write to the disk. The thread is started for the first password.
 */
export class PasswordWorker implements Passwords {
  readonly #waiting: FairQueue<Job>
  #running: Job | undefined
  #worker: Worker | undefined
  #isClosed = false

  constructor(waitingMax: number = LIMITS.passwordsWaitingMax, perSourceMax: number = LIMITS.passwordsPerSourceMax) {
    this.#waiting = new FairQueue({ waitingMax, perSourceMax })
  }

  /** Rejects with 503 where it gives way to others since too many wait, as the other one does. */
  hash(password: string, salt: string, owner?: JobOwner): Promise<string> {
    return this.#add(['hash', password, salt], owner)
  }

  isMatch(password: string, hash: string, owner?: JobOwner): Promise<boolean> {
    return this.#add(['compare', password, hash], owner)
  }

  /** Ends the thread; what waits is refused. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#failAll(new LogicalError('unavailable', 'the server is stopping'))
    await this.#worker?.terminate()
  }

  #add<T>(task: Task, owner: JobOwner = { source: '', name: '' }): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) reject(new LogicalError('unavailable', 'the server is stopping'))
      else {
        const late = this.#waiting.add({ task, resolve: resolve as Job['resolve'], reject }, owner)
        late?.reject(new LogicalError('unavailable', 'too many passwords are waiting to be checked'))
        this.#next()
      }
    })
  }

  #next(): void {
    if (this.#running) return
    this.#running = this.#waiting.shift()
    if (!this.#running) {
      // An idle thread keeps no process alive.
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
