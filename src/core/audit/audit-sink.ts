/** Destinations for the lines of an audit device. */

/** The subject of a line: a request that may still be rejected, or the response to an executed one. */
export type LineKind = 'request' | 'response'

export interface AuditSink {
  /**
   * Resolves when the line is written, in the order of the calls. Rejects if the write fails or exceeds
   * `LIMITS.auditWriteMs`. Does not sync to disk.
   */
  append(line: string, kind: LineKind): Promise<void>
  /** Opens the destination, so that errors show immediately. */
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
 * Creates a sink for standard output or another text stream. `write` rejects text that it cannot accept, and never waits for
 * a reader.
 */
export const textSink = (write: (text: string) => Promise<void>): AuditSink => ({ ...discardSink, append: write })
