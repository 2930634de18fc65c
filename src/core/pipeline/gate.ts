import { LogicalError } from '../../logical/errors.js'
import type { Condition, PathRules } from '../../logical/path-rules.js'
import type { Operation } from '../../logical/request.js'

/** In which of its states a server is, where it serves only what says so. */
export type GatedState = Exclude<Condition, 'fenced' | 'held'>

export const DR_REFUSAL = 'path disabled in replication DR secondary mode'
export const RESTARTING_REFUSAL = 'cluster is restarting after a replication change, try again'

const refusal = (state: GatedState): LogicalError => {
  if (state === 'sealed') return new LogicalError('sealed', 'Vault is sealed')
  if (state === 'dr') return new LogicalError('invalid-request', DR_REFUSAL)
  return new LogicalError('unavailable', RESTARTING_REFUSAL)
}

export const isServedWhile = (condition: Condition, { servedWhile }: PathRules, operation: Operation): boolean => {
  const served = servedWhile?.[condition]
  return served === 'all' || (served === 'reads' && operation === 'read')
}

/** Throws when the path may not be served in this state. */
export const checkGate = (state: GatedState | undefined, rules: PathRules, operation: Operation): void => {
  if (state !== undefined && !isServedWhile(state, rules, operation)) throw refusal(state)
}
