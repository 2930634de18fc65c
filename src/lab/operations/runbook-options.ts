import type { Clock } from '../../base/clock.js'
import type { EventDraft } from '../events/event.js'
import type { ClusterAccess } from '../model/cluster.js'
import type { LastPosition } from '../requests/expected-loss.js'
import { stepLineOf } from './lines.js'
import type { ProcedureStep } from './procedure-steps.js'
import type { Reader } from './readers.js'

/** One request of an operation. In a dry run, `<angle brackets>` replace values that are not known yet. */
export interface Step {
  readonly cluster: string
  readonly method: 'PUT' | 'GET' | 'DELETE'
  readonly path: string
  readonly body?: Readonly<Record<string, string | boolean | readonly string[]>>
  /** Whether the request has the root token of the cluster. Requests with key shares or a batch token have none. */
  readonly isAuthenticated?: boolean
}

export interface RunbookOptions {
  readonly clock: Clock
  /** Timeout of each wait, in milliseconds. */
  readonly timeoutMs: number
  /** Who reads the messages (default: `command`). They name options and operations as this reader knows them. */
  readonly reader?: Reader | undefined
  readonly onProgress: (text: string) => void
  /** Called with the equivalent command line of each request. Shell variables replace secrets. */
  readonly onCall?: ((line: string) => void) | undefined
  /** Receives an event without secrets for each completed request. */
  readonly emit?: ((event: EventDraft) => Promise<void>) | undefined
  /** Called for each response, and with null if there was none. */
  readonly onAnswer?: ((step: Step, status: number | null, tookMs: number) => void) | undefined
  /** Called before data is erased, with a description of this data. Rejects to stop the operation. */
  readonly onErase?: ((what: string) => Promise<void>) | undefined
  /** Whether to print the requests of changes without sending them. */
  readonly isDryRun?: boolean | undefined
  /** Receives the steps of a dry run, as an operator would perform them. */
  readonly onStep?: ((step: ProcedureStep) => void) | undefined
  /** Whether this is a dry run for a written runbook: it sends no requests, and assumes the roles of the clusters. */
  readonly isWritten?: boolean | undefined
  /** Resolves to the last known position of a DR primary that is down. */
  readonly findLastPosition?: ((cluster: string) => Promise<LastPosition | undefined>) | undefined
  /** Whether a fault of the lab stops the traffic between two clusters. */
  readonly isCut?: ((one: string, other: string) => Promise<boolean>) | undefined
  /** Resolves to a root token that is valid on a cluster now. */
  readonly rootTokenOf: (cluster: ClusterAccess) => Promise<string>
}

/** Returns the event of a completed request. */
export const eventOf = (step: Step, at: ClusterAccess): EventDraft => ({
  cluster: step.cluster,
  kind: 'call',
  details: { method: step.method, path: step.path },
  command: stepLineOf(step, at),
})
