/** Actions on the process of a server. */
export type ProcessVerb = 'start' | 'stop' | 'restart' | 'crash' | 'pause' | 'resume' | 'wipe'

/** Actions on the server of one cluster. */
export type ServerVerb = ProcessVerb | 'unseal' | 'seal'

export interface VerbOptions {
  readonly onProgress: (text: string) => void
  /** Bound on each wait. */
  readonly timeoutMs: number
}
