import { type ErrorCode, LogicalError } from '../../logical/errors.js'
import type { Condition, PathRules } from '../../logical/path-rules.js'
import {
  DR_REFUSAL,
  REMOVED_REFUSAL,
  RESTARTING_REFUSAL,
  SEALED_REFUSAL,
  STOPPING_REFUSAL,
  STRANDED_REFUSAL,
} from '../../logical/refusal-texts.js'
import type { Operation, Request } from '../../logical/request.js'

/** States in which no cluster is open: what tells the state is served, and what brings about another. */
export type ClosedState = 'stopping' | 'removed' | 'restarting' | 'uninitialized' | 'sealed' | 'standby'
export type OpenState = 'bootstrapping' | 'stranded' | 'dr-bootstrapping' | 'dr-secondary' | 'active'

interface Gate {
  /** The condition that rules of a path must name for it to be served, and how others are refused; absent where all are. */
  readonly only?: readonly [Condition, ErrorCode, string]
  /** The namespaces are not known before the first copy is complete. */
  readonly hasNoCopy?: true
  /** No tokens are served: what is let through looks at its own credentials. */
  readonly isTokenless?: true
}

const SEALED: Gate = { only: ['sealed', 'sealed', SEALED_REFUSAL] }

/** The gate of each state; a server is in exactly one of them. */
export const GATES: Readonly<Record<ClosedState | OpenState, Gate>> = {
  stopping: { only: ['stopping', 'unavailable', STOPPING_REFUSAL] },
  removed: { only: ['removed', 'unavailable', REMOVED_REFUSAL] },
  restarting: { only: ['restarting', 'unavailable', RESTARTING_REFUSAL] },
  // Everything else is handed on to the active node, and not judged here.
  standby: {},
  uninitialized: SEALED,
  sealed: SEALED,
  bootstrapping: { only: ['bootstrapping', 'unavailable', RESTARTING_REFUSAL], hasNoCopy: true },
  stranded: { only: ['stranded', 'unavailable', STRANDED_REFUSAL], hasNoCopy: true },
  'dr-bootstrapping': {
    only: ['dr-bootstrapping', 'unavailable', RESTARTING_REFUSAL],
    hasNoCopy: true,
    isTokenless: true,
  },
  'dr-secondary': { only: ['dr', 'invalid-request', DR_REFUSAL], isTokenless: true },
  active: {},
}

export const isServedWhile = (condition: Condition, { servedWhile }: PathRules, operation: Operation): boolean => {
  const served = servedWhile?.[condition]
  return served === 'all' || (served === 'reads' && operation === 'read')
}

/** Throws if the path may not be served in this state, or not on the listener of the request. */
export const checkGate = (
  state: ClosedState | OpenState,
  rules: PathRules,
  { operation, withheld }: Pick<Request, 'operation' | 'withheld'>,
): void => {
  const { only } = GATES[state]
  if (only) {
    const [condition, code, text] = only
    if (!isServedWhile(condition, rules, operation)) throw new LogicalError(code, text)
  }
  // The text by which the reference's page knows that the path is disabled.
  if (rules.withheldAs && withheld?.includes(rules.withheldAs)) throw new LogicalError('not-found', 'disabled path')
}
