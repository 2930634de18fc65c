/** Environment variables as they are handed in; only the process entry reads the real ones. */
export type Environment = Readonly<Record<string, string | undefined>>
