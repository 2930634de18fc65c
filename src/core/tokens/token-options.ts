import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import type { NamespaceRef, RenewalTimes, TokenView } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import type { IdentityStore } from '../identity/identity.js'
import type { LeaseTtls } from './token-issue.js'
import type { TokenEntry } from './token-record.js'

/** The dependencies of the token store, and its queries to the rest of the core. */
export interface TokenStoreOptions {
  /** The whole barrier; only `sys/token/`, `sys/expire/` and `cubbyhole/` are used. */
  readonly storage: Storage
  /** Derives a key for one purpose. It is equal on all clusters with the same keyring, and never rotated. */
  readonly deriveKey: (purpose: string) => Buffer
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly identity: IdentityStore
  readonly findNamespace: (id: string) => NamespaceRef | undefined
  /** Returns whether the mount with this accessor serves this path: a login's token ends when its mount is removed. */
  readonly isMounted: (accessor: string, namespaceId: string, path: string) => boolean
  /** Returns the lease TTLs of the mount that serves this path. */
  readonly leaseTtls: (namespaceId: string, path: string) => LeaseTtls
  readonly hasPolicy: (namespaceId: string, name: string) => boolean
  /** Returns whether the token has the sudo capability on a path of its namespace. */
  readonly hasSudo: (token: TokenView, path: string) => boolean
  /** Asks the token's issuing backend for its current times. Throws LogicalError if the token may not be renewed. */
  readonly renewalTimes: (entry: TokenEntry) => Promise<RenewalTimes> | RenewalTimes
  /** Called for each token issued by an auth method or created through auth/token. */
  readonly onIssued?: (entry: TokenEntry) => void
  /** Asks the primary, from a secondary, to find or create the entity of an alias. */
  readonly askEntity?: (alias: {
    readonly accessor: string
    readonly name: string
    readonly namespaceId: string
  }) => Promise<string>
  /** Returns the last position of the store's log, which long tokens contain. */
  readonly position?: () => number
}
