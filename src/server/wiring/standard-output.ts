/** Maximum bytes waiting for a reader of standard output before lines are rejected. */
const BACKLOG_BYTES_MAX = 1 << 20

/**
 * Writes audit lines to standard output. Rejects them while no reader consumes them, since waiting would block every
 * request.
 */
export const writeStandardOutput = async (text: string): Promise<void> => {
  if (process.stdout.writableLength > BACKLOG_BYTES_MAX) throw new Error('standard output is not being read')
  process.stdout.write(text)
}
