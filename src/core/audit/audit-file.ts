import { constants } from 'node:fs'
import { type FileHandle, open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../base/clock.js'
import { LIMITS } from '../../base/limits.js'
import { makeDirectory } from '../../base/make-directory.js'
import { inNoTime } from '../../base/turn.js'

interface FileSinkOptions {
  readonly path: string
  /** The mode of the file. Undefined leaves the mode of an existing file unchanged. */
  readonly mode: number | undefined
  readonly clock: Clock
  /** Returns the number of free bytes on the disk of the file. By default, asks the operating system. */
  readonly freeBytes?: (path: string) => Promise<number>
}

interface Waiting {
  readonly line: string
  readonly kind: LineKind
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * The flags for opening the file. With `O_NONBLOCK`, opening a pipe without a reader fails immediately. Without this
 * flag, the call would block a thread of the process forever.
 */
const APPENDING = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NONBLOCK

/** Interval between attempts to write to a full pipe, in ms. */
const RETRY_MS = 10

/** After a check finds more than `AMPLE_SPACE_BYTES` of free space, the sink skips further checks for this time. */
const SPACE_CHECK_PAUSE_MS = 100
const AMPLE_SPACE_BYTES = 64 * LIMITS.auditHeadroomBytes

const LINE_FEED = 0x0a

/**
 * Appends lines to a file. One write is in progress at a time. The next write contains all lines that arrived in the
 * meantime. After a failure, the next line reopens the file and starts at the beginning of a line. If the disk is
 * nearly full, the sink rejects the lines of requests, so that the responses to executed requests can still be written.
 */
export class FileSink implements AuditSink {
  readonly #options: FileSinkOptions
  #handle: FileHandle | undefined
  #isRegular = false
  #waiting: Waiting[] = []
  #waitingCharacters = 0
  /** Resolves when all file operations so far have ended. Never rejects. */
  #work: Promise<void> = Promise.resolve()
  #isScheduled = false
  /** A request in progress may append a line after `close`. The sink then writes the line and closes the file again. */
  #isClosed = false
  /** True while a write exceeds its timeout. No other write can start until that write completes. */
  #isStuck = false
  /** True if the last write ended in the middle of a line. */
  #isTorn = false
  #spaceKnownUntilMs = 0

  constructor(options: FileSinkOptions) {
    this.#options = options
  }

  append(line: string, kind: LineKind): Promise<void> {
    const isFull = this.#waiting.length > 0 && this.#waitingCharacters + line.length > LIMITS.auditWaitingBytesMax
    if (this.#isStuck || isFull) return Promise.reject(new Error('lines arrive faster than the file can be written'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, kind, resolve, reject })
      this.#waitingCharacters += line.length
      if (this.#isScheduled) return
      this.#isScheduled = true
      this.#work = this.#work.then(() => this.#writeWaiting())
    })
  }

  open(): Promise<void> {
    return this.#exclusively(async () => {
      this.#isClosed = false
      this.#handle ??= await this.#openFile()
    })
  }

  reopen(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#closeFile()
      if (!this.#isClosed) this.#handle = await this.#openFile()
    })
  }

  close(): Promise<void> {
    return this.#exclusively(() => {
      this.#isClosed = true
      return this.#closeFile()
    })
  }

  /** Runs `fn` after all earlier operations. A failure rejects only the caller's promise. */
  #exclusively(fn: () => Promise<void>): Promise<void> {
    const done = this.#work.then(fn)
    this.#work = done.catch(() => undefined)
    return done
  }

  #takeWaiting(): Waiting[] {
    const batch = this.#waiting
    this.#waiting = []
    this.#waitingCharacters = 0
    return batch
  }

  async #writeWaiting(): Promise<void> {
    let batch = this.#takeWaiting()
    this.#isScheduled = false
    const overtime = new AbortController()
    const timer = this.#options.clock.setTimer(LIMITS.auditWriteMs, () => {
      const error = new Error(`the write did not complete within ${LIMITS.auditWriteMs} ms`)
      this.#isStuck = true
      overtime.abort(error)
      for (const { reject } of [...batch, ...this.#takeWaiting()]) reject(error)
    })
    try {
      this.#handle ??= await this.#openFile()
      batch = await this.#rejectIfNearlyFull(batch)
      await this.#write(this.#handle, batch, overtime.signal)
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
      await this.#closeFile().catch(() => undefined)
    } finally {
      if (this.#isClosed) await this.#closeFile().catch(() => undefined)
      timer.cancel()
      this.#isStuck = false
    }
  }

  async #write(handle: FileHandle, batch: readonly Waiting[], signal: AbortSignal): Promise<void> {
    const text = batch.map(({ line }) => line).join('')
    const bytes = Buffer.from(this.#isTorn && text !== '' ? `\n${text}` : text)
    let written = 0
    try {
      while (written < bytes.length) {
        signal.throwIfAborted()
        written += await this.#writeOnce(handle, bytes.subarray(written), signal)
      }
    } finally {
      if (written > 0) this.#isTorn = bytes[written - 1] !== LINE_FEED
    }
  }

  /** Writes once and returns the number of bytes written. If a pipe is full, waits and returns 0. */
  async #writeOnce(handle: FileHandle, bytes: Buffer, signal: AbortSignal): Promise<number> {
    try {
      return (await inNoTime(() => handle.write(bytes))).bytesWritten
    } catch (error) {
      if (!isErrno(error, 'EAGAIN')) throw error
      await this.#options.clock.sleep(RETRY_MS, signal)
      return 0
    }
  }

  /** Returns the lines to write. If the disk is nearly full, rejects and omits the lines of requests. */
  async #rejectIfNearlyFull(batch: Waiting[]): Promise<Waiting[]> {
    if (!this.#isRegular || !batch.some(({ kind }) => kind === 'request') || (await this.#hasFreeSpace())) return batch
    const error = new Error(`less than ${LIMITS.auditHeadroomBytes} bytes are free on the disk of the audit file`)
    for (const { kind, reject } of batch) if (kind === 'request') reject(error)
    return batch.filter(({ kind }) => kind === 'response')
  }

  async #hasFreeSpace(): Promise<boolean> {
    if (this.#options.clock.monotonic() < this.#spaceKnownUntilMs) return true
    const { path, freeBytes = systemFreeBytes } = this.#options
    const free = await inNoTime(() => freeBytes(path))
    if (free > AMPLE_SPACE_BYTES) this.#spaceKnownUntilMs = this.#options.clock.monotonic() + SPACE_CHECK_PAUSE_MS
    return free >= LIMITS.auditHeadroomBytes
  }

  #openFile(): Promise<FileHandle> {
    return inNoTime(() => this.#openNow())
  }

  async #openNow(): Promise<FileHandle> {
    makeDirectory(dirname(this.#options.path), 0o755)
    const handle = await open(this.#options.path, APPENDING, this.#options.mode ?? 0o600)
    try {
      const stats = await handle.stat()
      this.#isRegular = stats.isFile()
      // The umask applies to the mode passed to `open`, and an existing file keeps its mode, so `chmod` is needed.
      // Device files keep their mode, because other programs of the machine use them too.
      const isDevice = stats.isCharacterDevice() || stats.isBlockDevice()
      if (this.#options.mode !== undefined && !isDevice) await handle.chmod(this.#options.mode)
    } catch (error) {
      await handle.close()
      throw error
    }
    return handle
  }

  async #closeFile(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    if (handle) await inNoTime(() => handle.close())
  }
}

/**
 * Returns the number of free bytes. Returns Infinity if the free space is unknown: some file systems, such as in-memory
 * ones, report a size of zero.
 */
const systemFreeBytes = async (path: string): Promise<number> => {
  const { blocks, bavail, bsize } = await statfs(path).catch(() => ({ blocks: 0, bavail: 0, bsize: 0 }))
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize
}

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === code

/** Whether a line describes a request, which can still be rejected, or the response to an executed request. */
export type LineKind = 'request' | 'response'

/** A destination for the lines of an audit device. */
export interface AuditSink {
  /**
   * Resolves when the line is written, in the order of the calls. Rejects if the write fails or exceeds
   * `LIMITS.auditWriteMs`. Does not sync to disk.
   */
  append(line: string, kind: LineKind): Promise<void>
  /** Opens the destination, so that errors occur before the first line. */
  open(): Promise<void>
  /** Closes and reopens the file, which may have been moved. */
  reopen(): Promise<void>
  /** Writes all appended lines, then closes. */
  close(): Promise<void>
}

export const discardSink: AuditSink = {
  append: async () => undefined,
  open: async () => undefined,
  reopen: async () => undefined,
  close: async () => undefined,
}

/**
 * Creates a sink for standard output or another text stream. `write` rejects text that it cannot accept, and never
 * waits for a reader.
 */
export const textSink = (write: (text: string) => Promise<void>): AuditSink => ({ ...discardSink, append: write })
