import { LogicalError } from '../logical/errors.js'
import { isListed } from '../logical/dispatch.js'
import type { Operation } from '../logical/request.js'
import { GENERATE_ROOT_PATHS } from './system/generate-root-paths.js'

/** What decides whether this server serves a path now. */
export interface GateState {
  readonly isInitialized: boolean
  readonly isSealed: boolean
  /** A role change rebuilds the server; connections are neither refused nor reset meanwhile. */
  readonly isRestarting: boolean
  readonly isDrSecondary: boolean
  /** The first copy of a secondary is on its way: there is nothing to serve yet. */
  readonly isBootstrapping: boolean
  /** The primary will not have this cluster any more. */
  readonly isRevoked: boolean
}

/** Served in every state, sealed or not; each of them says itself what it cannot do. Below `sys/`. */
const ALWAYS = ['init', 'seal-status', 'unseal', 'health', 'leader', 'seal'] as const

/** Also served while the server restarts after a role change. */
const WHILE_RESTARTING = ['replication/status', 'replication/dr/status', 'replication/performance/status'] as const

/**
 * Also served by a performance secondary that was revoked before its first copy was complete: nobody has a token there, so
 * holders of the key shares make one, with which the cluster is given up. A DR secondary has an operation token for that.
 */
const WHEN_LOST = [
  ...GENERATE_ROOT_PATHS,
  'replication/performance/secondary/disable',
  'replication/secondary/disable',
] as const

/** Sealing has nothing to seal while the server restarts, and on a DR secondary it is gated. */
const GATED_BUT_ALWAYS: ReadonlySet<string> = new Set(['seal'])

export const DR_REFUSAL = 'path disabled in replication DR secondary mode'
export const RESTARTING_REFUSAL = 'cluster is restarting after a replication change, try again'

const sysPathOf = (path: string): string | undefined =>
  path.startsWith('sys/') ? path.slice('sys/'.length) : undefined

/** What is answered while a role change rebuilds the server; everything else waits for the server that comes. */
export const isServedWhileRestarting = (path: string): boolean => {
  const sysPath = sysPathOf(path)
  if (sysPath === undefined) return false
  return (isListed(ALWAYS, sysPath) && !GATED_BUT_ALWAYS.has(sysPath)) || isListed(WHILE_RESTARTING, sysPath)
}

/**
 * Throws when the path may not be served in this state. `drAllowed` lists the paths below `sys/` that a DR secondary
 * serves (contract of replication).
 */
export const checkGate = (path: string, operation: Operation, state: GateState, drAllowed: readonly string[]): void => {
  const sysPath = sysPathOf(path)
  const isAlways = sysPath !== undefined && isListed(ALWAYS, sysPath)
  if (state.isRestarting) {
    if (isServedWhileRestarting(path)) return
    throw new LogicalError('unavailable', RESTARTING_REFUSAL)
  }
  if (state.isSealed || !state.isInitialized) {
    if (isAlways) return
    throw new LogicalError('sealed', 'Vault is sealed')
  }
  if (state.isBootstrapping && !state.isDrSecondary) {
    if (sysPath !== undefined && (isAlways || isListed(WHILE_RESTARTING, sysPath))) return
    if (sysPath !== undefined && state.isRevoked && isListed(WHEN_LOST, sysPath)) return
    throw new LogicalError('unavailable', RESTARTING_REFUSAL)
  }
  if (!state.isDrSecondary) return
  // Whoever waits for the first copy may bring the shares along: the cluster is open, and says so.
  const isPointless = !state.isBootstrapping && (sysPath === 'unseal' || (sysPath === 'init' && operation !== 'read'))
  if (sysPath !== undefined && isListed(drAllowed, sysPath) && !isPointless) return
  if (state.isBootstrapping) throw new LogicalError('unavailable', RESTARTING_REFUSAL)
  throw new LogicalError('invalid-request', DR_REFUSAL)
}
