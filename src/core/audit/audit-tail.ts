import { LIMITS } from '../../base/limits.js'

interface AuditLine {
  /** Path of the device. */
  readonly path: string
  /** Without the device's prefix. Very long lines are truncated. */
  readonly text: string
}

/**
 * The most recent lines that this cluster's devices wrote since it was unsealed. The devices fill it. No file is ever read
 * for it, since a device may have any file path.
 */
export class AuditTail {
  #lines: AuditLine[] = []

  add(path: string, line: string): void {
    this.#lines.push({ path, text: shorten(line) })
    // Trims only at twice the limit, so that most additions move no elements.
    if (this.#lines.length >= 2 * LIMITS.auditTailLines) this.#lines = this.list()
  }

  /** Returns the lines, oldest first. */
  list(): AuditLine[] {
    return this.#lines.slice(-LIMITS.auditTailLines)
  }
}

/** Copies the text: a substring would keep the whole line in memory. */
const shorten = (line: string): string =>
  line.length <= LIMITS.auditTailCharactersMax
    ? line
    : `${Buffer.from(line.slice(0, LIMITS.auditTailCharactersMax)).toString('utf8')} …`
