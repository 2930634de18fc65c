import { LabError } from './lab-error.js'

/** Actions on the process of a server. */
export type ProcessVerb = 'start' | 'stop' | 'restart' | 'crash' | 'pause' | 'resume' | 'wipe'

export type ServerVerb = ProcessVerb | 'unseal' | 'seal'

interface VerbTexts {
  /** The summary of the command. */
  readonly about: string
  /** The description of the step of a drill. */
  readonly step: string
  /** True if the command requires the name of a server. Otherwise, a command without names applies to all servers. */
  readonly needsName?: true
}

export const SERVER_VERBS: Readonly<Record<ServerVerb, VerbTexts>> = {
  start: {
    about: 'start stopped servers with their data and unseal them',
    step: 'Starts servers with their data, and unseals them with the keys of the lab.',
  },
  stop: { about: 'stop servers with SIGTERM and keep their data', step: 'Stops servers with SIGTERM.' },
  restart: { about: 'restart and unseal servers', step: 'Stops servers and starts them again.' },
  crash: {
    about: 'kill servers with SIGKILL',
    step: 'Kills servers with SIGKILL.',
    needsName: true,
  },
  pause: {
    about: 'suspend server processes with SIGSTOP',
    step: 'Suspends servers with SIGSTOP. Not available in one process.',
    needsName: true,
  },
  resume: { about: 'resume suspended servers', step: 'Resumes suspended servers.' },
  wipe: {
    about: 'remove the data of stopped servers',
    step: 'Removes the data of stopped servers. With storage "raft", a node joins again when it starts.',
    needsName: true,
  },
  seal: { about: 'seal servers', step: 'Seals clusters.', needsName: true },
  unseal: {
    about: 'unseal servers with the keys of the lab',
    step: 'Unseals clusters with the keys of the lab.',
  },
}

export interface VerbOptions {
  readonly onProgress: (text: string) => void
  /** Timeout of each wait, in milliseconds. */
  readonly timeoutMs: number
  /** Called before data is erased, with a description of this data. Rejects to stop the action. */
  readonly onErase?: ((what: string) => Promise<void>) | undefined
}

/** Where the servers of a lab run. */
export type LabKind = 'process' | 'in-process' | 'docker' | 'attached'

/** Returns the error for an action that needs a process for each server. */
export const cannot = (verb: ServerVerb): LabError =>
  new LabError('usage', `"${verb}" is not supported for in-process labs`)
