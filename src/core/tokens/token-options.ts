import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import type { NamespaceRef, RenewalTimes, TokenView } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import type { IdentityStore } from '../identity/identity.js'
import type { LeaseTtls } from './token-issue.js'
import type { TokenEntry } from './token-record.js'

/** The parts that the token store is given, and its questions to the rest of the core. */
export interface TokenStoreOptions {
  /** The whole barrier; only `sys/token/`, `sys/expire/` and `cubbyhole/` are touched. */
  readonly storage: Storage
  /** A key for one purpose, equal on all clusters that share the keyring, and never rotated. */
  readonly deriveKey: (purpose: string) => Buffer
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly identity: IdentityStore
  readonly findNamespace: (id: string) => NamespaceRef | undefined
  /** Whether the mount with this accessor serves this path: a login's token ends when its mount leaves. */
  readonly isMounted: (accessor: string, namespaceId: string, path: string) => boolean
  /** The lease times of the mount that serves this path. */
  readonly leaseTtls: (namespaceId: string, path: string) => LeaseTtls
  readonly hasPolicy: (namespaceId: string, name: string) => boolean
  /** Whether the token has the sudo capability on a path of its namespace. */
  readonly hasSudo: (token: TokenView, path: string) => boolean
  /** Asks the backend that issued the token for the times it grants now; throws LogicalError when it may not be renewed. */
  readonly renewalTimes: (entry: TokenEntry) => Promise<RenewalTimes> | RenewalTimes
  /** Told of each token that an auth method has issued or auth/token has made. */
  readonly onIssued?: (entry: TokenEntry) => void
  /** On a secondary: has the primary find or make the entity of an alias. */
  readonly askEntity?: (alias: {
    readonly accessor: string
    readonly name: string
    readonly namespaceId: string
  }) => Promise<string>
  /** The last position of the store's log, put into long tokens. */
  readonly position?: () => number
}
