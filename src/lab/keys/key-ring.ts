import type { Clock } from '../../base/clock.js'
import type { ApiClient, TokenSource } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import type { ClusterAccess, ClusterKeys } from '../model/cluster.js'
import { environmentOf, type Shares, sharesToTry } from './environment.js'
import { KINDS } from '../model/kinds.js'
import { findPrimary, type RoleHolder } from '../requests/find-primary.js'
import { askRoles } from '../requests/replication.js'
import { isFollower } from '../requests/replication-status.js'
import { waitFor } from '../requests/wait.js'

/** A cluster whose keys the key ring stores. */
export interface KeyOwner extends Pick<ClusterAccess, 'name' | 'apiAddress' | 'nodeAddresses' | 'caFile'> {
  readonly clusterAddress: string
  /** The addresses of all nodes, if there are several. */
  readonly clusterAddresses?: readonly string[]
  readonly isRunning: boolean
  readonly anonymous: ApiClient
}

interface StoredKeys extends ClusterKeys {
  /** Whether the token was valid at the last check. An invalid token may still be valid on another cluster. */
  readonly isCurrent: boolean
}

/** Maximum time of a role change, in milliseconds. During a role change, a server cannot generate a token. */
const SETTLING_MS = 3000
/** The paths of requests that change a replication role, and with it the valid keys. */
const CHANGES_KEYS = /^sys\/replication\/(?:(?:dr|performance)\/)?(?:primary|secondary)\/(?!secondary-token)[\w-]+$/

/**
 * The key shares and root token that are valid on each cluster now. A secondary unseals with the shares of its primary,
 * and accepts the tokens of this primary after a promotion. If a token is missing or rejected, the key ring asks the
 * servers for their roles.
 */
export class KeyRing {
  readonly #owners: () => readonly KeyOwner[]
  readonly #clock: Clock
  readonly #exchange: Exchange | undefined
  readonly #stored = new Map<string, StoredKeys>()
  /** All shares that were ever used, because a cluster still has its earlier shares after a failed join. */
  readonly #shares = new Map<string, Shares>()
  readonly #searches = new Map<string, Promise<string | undefined>>()

  /** `exchange`: the transport for requests to all owners if they have no sockets. */
  constructor(owners: () => readonly KeyOwner[], clock: Clock, exchange?: Exchange) {
    this.#exchange = exchange
    this.#owners = owners
    this.#clock = clock
  }

  /** Returns the last known keys of a cluster. The token is empty if none is valid, as on a DR secondary. */
  keysOf(name: string): ClusterKeys {
    const { rootToken, unsealKeys, threshold, isCurrent } = this.#storedKeysOf(name)
    return { rootToken: isCurrent ? rootToken : '', unsealKeys, threshold }
  }

  /** Stores keys of a cluster. Absent fields do not change. */
  set(name: string, { rootToken, unsealKeys, threshold }: Partial<ClusterKeys>): void {
    const known = this.#storedKeysOf(name)
    if (unsealKeys?.length) this.#shares.set(unsealKeys.join(), { unsealKeys, threshold: threshold ?? known.threshold })
    this.#stored.set(name, {
      rootToken: rootToken ?? known.rootToken,
      unsealKeys: unsealKeys ?? known.unsealKeys,
      threshold: threshold ?? known.threshold,
      isCurrent: rootToken === undefined ? known.isCurrent : rootToken !== '',
    })
  }

  /** Returns the clusters with all stored keys. Includes invalid tokens, because another cluster may accept them. */
  access(): readonly ClusterAccess[] {
    return this.#owners().map(({ name, apiAddress, nodeAddresses, caFile }): ClusterAccess => {
      const { rootToken, unsealKeys, threshold } = this.#storedKeysOf(name)
      const exchange = this.#exchange
      return { name, apiAddress, nodeAddresses, caFile, exchange, rootToken, unsealKeys, threshold }
    })
  }

  /** Returns the token source for clients of one cluster. */
  tokensOf(name: string): TokenSource {
    return {
      current: async () => this.keysOf(name).rootToken || this.findToken(name),
      insteadOf: async (refused) => {
        const { rootToken } = this.keysOf(name)
        return rootToken !== '' && rootToken !== refused ? rootToken : this.findToken(name)
      },
    }
  }

  /** Returns a valid token of the cluster. If no token of the lab is valid, generates one from its key shares. */
  findToken(name: string): Promise<string | undefined> {
    return this.#findOnce(name, async () => {
      const owner = this.#owners().find((each) => each.name === name)
      if (owner?.isRunning) await this.follow()
      return owner && this.#search(owner)
    })
  }

  /** Asks each running cluster for its primary, and stores the key shares of this primary for the cluster. */
  async follow(): Promise<void> {
    const running = this.#owners().filter(({ isRunning }) => isRunning)
    const ask = async ({ name, anonymous }: KeyOwner): Promise<RoleHolder> => ({ name, ...(await askRoles(anonymous)) })
    const roles = await Promise.all(running.map(ask))
    for (const { name } of roles) this.#inherit(name, roles)
  }

  /** Updates the keys, and finds a token for each cluster without a valid one. */
  async settle(): Promise<void> {
    await this.follow()
    const open = this.#owners().filter(({ name }) => this.keysOf(name).rootToken === '')
    await Promise.all(open.map((owner) => this.#findOnce(owner.name, () => this.#search(owner))))
  }

  /** Updates the keys after a successful request to a cluster, if requests to this path change replication roles. */
  async noteCall(name: string, path: string): Promise<void> {
    if (!CHANGES_KEYS.test(path)) return
    const stored = this.#storedKeysOf(name)
    this.#stored.set(name, { ...stored, isCurrent: false })
    await this.follow()
  }

  /** Returns the key shares to try when unsealing a cluster: its own, then all that were ever used in the lab. */
  candidatesFor(name: string): readonly Shares[] {
    return sharesToTry<Shares>(this.#storedKeysOf(name), this.#shares.values())
  }

  /** Joins concurrent calls, because two root token generations at once would interfere. */
  #findOnce(name: string, find: () => Promise<string | undefined>): Promise<string | undefined> {
    const running = this.#searches.get(name)
    if (running) return running
    const search = find().finally(() => this.#searches.delete(name))
    this.#searches.set(name, search)
    return search
  }

  /** Searches for a valid token until the cluster has completed a role change. Undefined if there is none. */
  async #search({ name, anonymous, isRunning }: KeyOwner): Promise<string | undefined> {
    if (!isRunning) return undefined
    let token: string | undefined
    const look = async () => {
      const lab = { name: '', clusters: this.access() }
      const cluster = lab.clusters.find((each) => each.name === name)
      if (!cluster) return undefined
      const found = await environmentOf(lab, cluster, () => undefined)
      token = found.token
      if (token !== undefined) return undefined
      return (await servesTokens(anonymous)) ? found.note : undefined
    }
    await waitFor(this.#clock, `a token of ${name}`, look, SETTLING_MS).catch(() => undefined)
    const stored = this.#storedKeysOf(name)
    this.#stored.set(name, { ...stored, rootToken: token ?? stored.rootToken, isCurrent: token !== undefined })
    return token
  }

  /** Stores the key shares of the primary of a cluster for the cluster. `seen` prevents an endless recursion. */
  #inherit(name: string, roles: readonly RoleHolder[], seen: readonly string[] = []): ClusterKeys {
    const own = this.#storedKeysOf(name)
    const holder = seen.includes(name) ? undefined : roles.find((one) => one.name === name)
    if (!holder) return own
    const primary = this.#findPrimary(holder, roles)
    if (primary === undefined) return own
    const { unsealKeys, threshold } = this.#inherit(primary, roles, [...seen, name])
    // A DR secondary accepts no tokens.
    const isCurrent = own.isCurrent && !isFollower(holder.dr) && unsealKeys.join() === own.unsealKeys.join()
    this.#stored.set(name, { ...own, unsealKeys, threshold, isCurrent })
    return this.#storedKeysOf(name)
  }

  /**
   * Returns the primary of a cluster: its DR primary, because DR replicates all data, otherwise its performance
   * primary.
   */
  #findPrimary(holder: RoleHolder, roles: readonly RoleHolder[]): string | undefined {
    for (const kind of KINDS.filter((each) => isFollower(holder[each]))) {
      // A primary that is down reports no role.
      const found =
        findPrimary(holder, roles, kind) ?? this.#owners().find((one) => isAt(one, holder[kind].primaryAddress))
      if (found && found.name !== holder.name) return found.name
    }
    return undefined
  }

  #storedKeysOf(name: string): StoredKeys {
    return this.#stored.get(name) ?? { rootToken: '', unsealKeys: [], threshold: 0, isCurrent: false }
  }
}

/** Whether an address belongs to a cluster: the address of any node counts. */
export const isAt = (
  { clusterAddress, clusterAddresses = [clusterAddress] }: Pick<KeyOwner, 'clusterAddress' | 'clusterAddresses'>,
  address: string,
): boolean => clusterAddresses.includes(address)

/** Returns true if the server accepts tokens: it is not sealed, not new, and not a DR secondary. */
const servesTokens = async (client: ApiClient): Promise<boolean> => {
  const { status } = await client.send('GET', 'sys/health', { query: { standbyok: 'true', perfstandbyok: 'true' } })
  return status === 200
}
