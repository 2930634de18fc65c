import type { Clock } from '../../base/clock.js'
import type { EventDraft } from '../events/event.js'
import type { ClusterAccess } from '../model/cluster.js'
import type { LastPosition } from '../requests/expected-loss.js'
import type { ProcedureStep } from './procedure-steps.js'

/** One request of an operation. Names in `<angle brackets>` stand for values that are not known yet. */
export interface Step {
  readonly cluster: string
  readonly method: 'PUT' | 'GET' | 'DELETE'
  readonly path: string
  readonly body?: Readonly<Record<string, string | boolean | readonly string[]>>
  /** Sent with the root token of the cluster. Requests with key shares or a batch token need none. */
  readonly isAuthenticated?: boolean
}

export interface RunbookOptions {
  readonly clock: Clock
  /** Timeout of each wait, in milliseconds. */
  readonly timeoutMs: number
  readonly onProgress: (text: string) => void
  /** Called with the equivalent command line of each request. Shell variables replace secrets. */
  readonly onCall?: ((line: string) => void) | undefined
  /** Called for each completed request, without secrets. */
  readonly emit?: ((event: EventDraft) => Promise<void>) | undefined
  /** Called for each response, and with null if there was none. */
  readonly onAnswer?: ((step: Step, status: number | null, tookMs: number) => void) | undefined
  /** Called before data is erased, with a description of this data. Rejects to stop the operation. */
  readonly onErase?: ((what: string) => Promise<void>) | undefined
  /** Prints the requests without sending them. */
  readonly isDryRun?: boolean | undefined
  /** Receives the steps of a dry run, as an operator would perform them. */
  readonly onStep?: ((step: ProcedureStep) => void) | undefined
  /** Writes a runbook: a dry run that asks no server, and knows only the roles that it supposes. */
  readonly isWritten?: boolean | undefined
  /** Resolves to the position of a DR primary when the lab took it down. */
  readonly findLastPosition?: ((cluster: string) => Promise<LastPosition | undefined>) | undefined
  /** Resolves to a root token that is valid on a cluster now. */
  readonly rootTokenOf: (cluster: ClusterAccess) => Promise<string>
}
