/** Environment variables as passed in. Only the process entry reads the real ones. */
export type Environment = Readonly<Record<string, string | undefined>>
