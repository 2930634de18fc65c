/** Where a server that shares the process of the lab daemon reads and writes. */
export interface HostedFiles {
  readonly name: string
  /** The cluster that it is one of several nodes of. */
  readonly cluster?: string | undefined
  readonly configFile: string
  readonly logFile: string
}

export const HOSTED_VERBS = ['start', 'stop', 'crash'] as const
export type HostedVerb = (typeof HOSTED_VERBS)[number]

/** The servers of a lab that runs in one process, as its keeper works on them. */
export interface ServerHost {
  /** Rejects with LabError where it cannot be done. What is so already is fine. */
  work(name: string, verb: HostedVerb): Promise<void>
}
