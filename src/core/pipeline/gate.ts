import {
  DR_REFUSAL,
  type ErrorCode,
  LogicalError,
  REMOVED_REFUSAL,
  RESTARTING_REFUSAL,
  SEALED_REFUSAL,
  STOPPING_REFUSAL,
  STRANDED_REFUSAL,
} from '../../logical/errors.js'
import type { Condition, PathRules } from '../../logical/path-rules.js'
import type { Operation, Request } from '../../logical/request.js'
import { LIMITS } from '../../base/limits.js'
import type { PathSpec } from '../../logical/backend.js'
import type { BodyAllowance } from '../../logical/incoming.js'

/**
 * The states in which this node has not opened the data of the cluster. The node itself handles only status paths and
 * paths that change the state.
 */
export type ClosedState = 'stopping' | 'removed' | 'restarting' | 'uninitialized' | 'sealed' | 'standby'
export type OpenState = 'bootstrapping' | 'stranded' | 'dr-bootstrapping' | 'dr-secondary' | 'active'

interface Gate {
  /**
   * The condition that the rules of a path must include, and the error code and text for all other paths. Absent if all
   * paths are available.
   */
  readonly only?: readonly [Condition, ErrorCode, string]
  /** True if the first full sync is not complete, so namespaces are unknown. */
  readonly hasNoCopy?: true
  /** True if no tokens are valid. The available paths check their own credentials. */
  readonly isTokenless?: true
}

const SEALED: Gate = { only: ['sealed', 'sealed', SEALED_REFUSAL] }

/** The gate of each state. A server is in exactly one state. */
export const GATES: Readonly<Record<ClosedState | OpenState, Gate>> = {
  stopping: { only: ['stopping', 'unavailable', STOPPING_REFUSAL] },
  removed: { only: ['removed', 'unavailable', REMOVED_REFUSAL] },
  restarting: { only: ['restarting', 'unavailable', RESTARTING_REFUSAL] },
  // A standby forwards all other requests to the active node without a check.
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

/** Throws LogicalError if the path is not available in this state, or not on the listener of the request. */
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
  // The Vault UI recognizes a disabled path by this text.
  if (rules.withheldAs && withheld?.includes(rules.withheldAs)) throw new LogicalError('not-found', 'disabled path')
}

/** The body limits of a request with a valid token. Only the limit of the listener applies to the size. */
export const FULL_ALLOWANCE: BodyAllowance = {
  bytesMax: Number.POSITIVE_INFINITY,
  valuesMax: LIMITS.jsonValuesMax,
  isAuthorised: true,
}

/** Returns the body limits of a request without a valid token. They depend on the path. */
export const openAllowance = (spec?: Pick<PathSpec, 'openBodyBytesMax'>): BodyAllowance => ({
  bytesMax: spec?.openBodyBytesMax ?? LIMITS.openBodyBytesMax,
  valuesMax: LIMITS.openJsonValuesMax,
  isAuthorised: false,
})
