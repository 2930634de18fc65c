/** The files of a server in the process of the lab daemon. */
export interface HostedFiles {
  readonly name: string
  /** The cluster of the server, if it is a node of a multi-node cluster. */
  readonly cluster?: string | undefined
  readonly configFile: string
  readonly logFile: string
}

export const HOSTED_VERBS = ['start', 'stop', 'crash'] as const
export type HostedVerb = (typeof HOSTED_VERBS)[number]

/** The servers of an in-process lab, as its daemon controls them. */
export interface ServerHost {
  /** Runs an action. Does nothing if the state is already reached. Rejects with LabError if the action fails. */
  work(name: string, verb: HostedVerb): Promise<void>
}
