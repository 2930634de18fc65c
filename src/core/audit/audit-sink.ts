/** Where the lines of an audit device go. */

/** The subject of a line: a request that may still be refused, or the answer to one that is executed already. */
export type LineKind = 'request' | 'response'

export interface AuditSink {
  /**
   * Resolves when the line is written, in the order of the calls; rejects when it could not be, or not within
   * `LIMITS.auditWriteMs`. Not synced to the disk.
   */
  append(line: string, kind: LineKind): Promise<void>
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
