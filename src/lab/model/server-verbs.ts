import { LabError } from './lab-error.js'

/** Actions on the process of a server. */
export type ProcessVerb = 'start' | 'stop' | 'restart' | 'crash' | 'pause' | 'resume' | 'wipe'

/** Actions on the server of one cluster. */
export type ServerVerb = ProcessVerb | 'unseal' | 'seal'

export interface VerbOptions {
  readonly onProgress: (text: string) => void
  /** Timeout of each wait, in milliseconds. */
  readonly timeoutMs: number
}

/** Where the servers of a lab run. */
export type LabKind = 'process' | 'in-process' | 'docker' | 'attached'

/** Returns the error for an action that this kind of lab does not support. */
export const cannot = (what: string, kind: LabKind): LabError =>
  new LabError('usage', `${what} cannot be done to ${KIND_TEXTS[kind]}`)

const KIND_TEXTS: Readonly<Record<LabKind, string>> = {
  process: 'a lab of processes',
  'in-process': 'a lab that runs in one process',
  docker: 'a lab of containers',
  attached: 'a lab of existing servers',
}
