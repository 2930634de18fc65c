import type { Backend, PathSpec } from '../../logical/backend.js'
import { GENERATE_ROOT_PATHS } from './generate-root-paths.js'
import { RAFT_JOIN } from './raft-paths.js'

/**
 * The system backend: path families joined. It is one object for every namespace, since handlers are told the namespace
 * with each request, and it needs no storage of its own.
 */
export const createSystemBackend = (families: {
  readonly paths: readonly PathSpec[]
  /** Besides those that exist in every state. */
  readonly unauthenticated?: readonly string[]
  readonly sudo?: readonly string[]
  /** Ceremonies of key shares need a token with sudo as well. */
  readonly areCeremoniesClosed?: boolean
}): Backend => {
  const open = [...UNAUTHENTICATED, ...(families.unauthenticated ?? [])]
  const closed = families.areCeremoniesClosed ? open.filter((path) => CEREMONIES.has(path)) : []
  return {
    type: 'system',
    paths: families.paths,
    unauthenticated: open.filter((path) => !closed.includes(path)),
    sudo: [...SUDO, ...(families.sudo ?? []), ...closed],
  }
}

const CEREMONIES: ReadonlySet<string> = new Set([
  ...GENERATE_ROOT_PATHS,
  'replication/dr/secondary/generate-operation-token/attempt',
  'replication/dr/secondary/generate-operation-token/update',
])

/** Need no token, or look at it themselves. */
const UNAUTHENTICATED = [
  'init',
  'seal-status',
  'unseal',
  'leader',
  'health',
  ...GENERATE_ROOT_PATHS,
  'rekey/*',
  'rekey-recovery-key/*',
  'wrapping/lookup',
  'wrapping/pubkey',
  'internal/ui/mounts',
  'internal/ui/mounts/*',
  'internal/ui/namespaces',
  'internal/specs/openapi',
  RAFT_JOIN,
] as const

/** Need the sudo capability beside the one of the operation. */
const SUDO = [
  'auth/*',
  'remount',
  'raw',
  'raw/*',
  'rotate',
  'config/cors',
  'config/ui/headers/*',
  'revoke-prefix/*',
  'revoke-force/*',
  'leases',
  'leases/lookup/*',
  'leases/revoke-prefix/*',
  'leases/revoke-force/*',
  'internal/inspect/*',
  'seal',
  'step-down',
  'storage/raft/snapshot',
  'storage/raft/snapshot-force',
] as const
