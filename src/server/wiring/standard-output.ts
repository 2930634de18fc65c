/** Bytes that may wait for a reader of standard output before lines are refused. */
const BACKLOG_BYTES_MAX = 1 << 20

/** Writes audit lines to standard output; refuses them while nobody reads it, since waiting would stop every request. */
export const writeStandardOutput = async (text: string): Promise<void> => {
  if (process.stdout.writableLength > BACKLOG_BYTES_MAX) throw new Error('nobody reads standard output')
  process.stdout.write(text)
}
