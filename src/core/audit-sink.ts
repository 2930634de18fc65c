/** Where the lines of an audit device go. */
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface AuditSink {
  /** Resolves when the line is written, in the order of the calls; rejects when it could not be. Not synced to the disk. */
  append(line: string): Promise<void>
  /** Opens what it writes to, so that mistakes are found at once. */
  open(): Promise<void>
  /** Closes and opens again: the file may have been moved away. */
  reopen(): Promise<void>
  /** Writes what was appended before, then closes. */
  close(): Promise<void>
}

export const discardSink: AuditSink = {
  append: async () => undefined,
  open: async () => undefined,
  reopen: async () => undefined,
  close: async () => undefined,
}

/** Standard output, or whatever else takes text. `write` rejects what it cannot take, and never waits for a reader. */
export const textSink = (write: (text: string) => Promise<void>): AuditSink => ({ ...discardSink, append: write })

interface Waiting {
  readonly line: string
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Appends to a file. One write is under way at a time and takes along everything that came in the meantime. After a
 * failure the file is opened anew with the next line.
 */
export class FileSink implements AuditSink {
  readonly #path: string
  readonly #mode: number | undefined
  #handle: FileHandle | undefined
  #waiting: Waiting[] = []
  /** The end of the queue of everything that touches the file. Never rejects. */
  #work: Promise<void> = Promise.resolve()
  #isScheduled = false

  constructor(path: string, mode: number | undefined) {
    this.#path = path
    this.#mode = mode
  }

  append(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, resolve, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      this.#work = this.#work.then(() => this.#writeWaiting())
    })
  }

  open(): Promise<void> {
    return this.#exclusively(async () => {
      this.#handle ??= await this.#openFile()
    })
  }

  reopen(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#closeFile()
      this.#handle = await this.#openFile()
    })
  }

  close(): Promise<void> {
    return this.#exclusively(() => this.#closeFile())
  }

  /** Runs `fn` after what was asked for before; its failure is the caller's alone. */
  #exclusively(fn: () => Promise<void>): Promise<void> {
    const done = this.#work.then(fn)
    this.#work = done.catch(() => undefined)
    return done
  }

  async #writeWaiting(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    this.#isScheduled = false
    try {
      this.#handle ??= await this.#openFile()
      await this.#handle.appendFile(batch.map(({ line }) => line).join(''))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
      await this.#closeFile().catch(() => undefined)
    }
  }

  async #openFile(): Promise<FileHandle> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o755 })
    const handle = await open(this.#path, 'a', this.#mode ?? 0o600)
    try {
      // The mode given to open is masked, and an existing file keeps its own.
      if (this.#mode !== undefined) await handle.chmod(this.#mode)
    } catch (error) {
      await handle.close()
      throw error
    }
    return handle
  }

  async #closeFile(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
  }
}
