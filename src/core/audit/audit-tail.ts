import { LIMITS } from '../../base/limits.js'

interface AuditLine {
  /** Of its device. */
  readonly path: string
  /** Without the prefix of the device; the beginning of one that is very long. */
  readonly text: string
}

/**
 * The newest lines that the devices of this cluster wrote, from when it was opened here. It is filled by those who write, and
 * no file is ever read for it: a device can be given any name of a file.
 */
export class AuditTail {
  #lines: AuditLine[] = []

  add(path: string, line: string): void {
    this.#lines.push({ path, text: shorten(line) })
    // Most lines move nothing.
    if (this.#lines.length >= 2 * LIMITS.auditTailLines) this.#lines = this.list()
  }

  /** The oldest first. */
  list(): AuditLine[] {
    return this.#lines.slice(-LIMITS.auditTailLines)
  }
}

/** A part of a text would keep the whole of it in memory: it is copied. */
const shorten = (line: string): string =>
  line.length <= LIMITS.auditTailCharactersMax
    ? line
    : `${Buffer.from(line.slice(0, LIMITS.auditTailCharactersMax)).toString('utf8')} …`
