import type { Clock } from '../../base/clock.js'
import type { ApiClient, TokenSource } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import type { ClusterAccess, ClusterKeys } from '../model/cluster.js'
import { environmentOf, type Shares, sharesToTry } from './environment.js'
import { KINDS } from '../model/kinds.js'
import { askStatuses } from '../requests/replication.js'
import { isFollower, type ReplicationStatuses } from '../requests/replication-status.js'
import { waitFor } from '../requests/wait.js'

/** A cluster whose keys are stored here. */
export interface KeyOwner extends Pick<ClusterAccess, 'name' | 'apiAddress' | 'nodeAddresses' | 'caFile'> {
  readonly clusterAddress: string
  /** The addresses of all nodes, if there are several. */
  readonly clusterAddresses?: readonly string[]
  readonly isRunning: boolean
  readonly anonymous: ApiClient
}

interface Holding extends ClusterKeys {
  /** Whether the token was valid at the last check. A token of an earlier role may be valid elsewhere. */
  readonly isCurrent: boolean
}

/** Time in which a server that changes its role cannot generate a token. */
const SETTLING_MS = 3000
const CHANGES_KEYS = /^sys\/replication\/(?:(?:dr|performance)\/)?(?:primary|secondary)\/(?!secondary-token)[\w-]+$/

/**
 * The key shares and root token that are valid on each cluster now. A secondary gets the shares of its primary, and a
 * promoted cluster also the tokens. Roles can change, so the key ring asks the servers if a token is missing or rejected.
 */
export class KeyRing {
  readonly #owners: () => readonly KeyOwner[]
  readonly #clock: Clock
  readonly #exchange: Exchange | undefined
  readonly #holdings = new Map<string, Holding>()
  /** All shares that were ever used, because a cluster still has its earlier shares after a failed join. */
  readonly #shares = new Map<string, Shares>()
  readonly #searches = new Map<string, Promise<string | undefined>>()

  /** `exchange`: the transport for requests to all owners if they have no sockets. */
  constructor(owners: () => readonly KeyOwner[], clock: Clock, exchange?: Exchange) {
    this.#exchange = exchange
    this.#owners = owners
    this.#clock = clock
  }

  /** Returns the last known keys. The token is empty if none is valid, as on a DR secondary. */
  keysOf(name: string): ClusterKeys {
    const { rootToken, unsealKeys, threshold, isCurrent } = this.#holdingOf(name)
    return { rootToken: isCurrent ? rootToken : '', unsealKeys, threshold }
  }

  /** Changes the given keys only. */
  set(name: string, { rootToken, unsealKeys, threshold }: Partial<ClusterKeys>): void {
    const known = this.#holdingOf(name)
    if (unsealKeys?.length) this.#shares.set(unsealKeys.join(), { unsealKeys, threshold: threshold ?? known.threshold })
    this.#holdings.set(name, {
      rootToken: rootToken ?? known.rootToken,
      unsealKeys: unsealKeys ?? known.unsealKeys,
      threshold: threshold ?? known.threshold,
      isCurrent: rootToken === undefined ? known.isCurrent : rootToken !== '',
    })
  }

  /** Returns the clusters with all known keys, as operations need them. */
  access(): readonly ClusterAccess[] {
    return this.#owners().map(({ name, apiAddress, nodeAddresses, caFile }): ClusterAccess => {
      const { rootToken, unsealKeys, threshold } = this.#holdingOf(name)
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

  /** Asks every running cluster for its primary after a role change. The cluster then has the keys of this primary. */
  async follow(): Promise<void> {
    const roles = new Map<string, ReplicationStatuses>()
    await Promise.all(
      this.#owners()
        .filter(({ isRunning }) => isRunning)
        .map(async ({ name, anonymous }) => {
          const found = await askStatuses(anonymous).catch(() => undefined)
          if (found) roles.set(name, found)
        }),
    )
    for (const name of roles.keys()) this.#inherit(name, roles)
  }

  /** Updates the keys, and finds a token for each cluster without a valid one. */
  async settle(): Promise<void> {
    await this.follow()
    const open = this.#owners().filter(({ name }) => this.keysOf(name).rootToken === '')
    await Promise.all(open.map((owner) => this.#findOnce(owner.name, () => this.#search(owner))))
  }

  /** Handles a request through a client of the lab that may have changed the replication roles. */
  async noteCall(name: string, path: string): Promise<void> {
    if (!CHANGES_KEYS.test(path)) return
    const holding = this.#holdingOf(name)
    this.#holdings.set(name, { ...holding, isCurrent: false })
    await this.follow()
  }

  /** Returns the key shares to try when unsealing a cluster: its own, then all that were ever used in the lab. */
  candidatesFor(name: string): readonly Shares[] {
    return sharesToTry<Shares>(this.#holdingOf(name), this.#shares.values())
  }

  /** Joins concurrent calls, because two root token generations at once would interfere. */
  #findOnce(name: string, find: () => Promise<string | undefined>): Promise<string | undefined> {
    const running = this.#searches.get(name)
    if (running) return running
    const search = find().finally(() => this.#searches.delete(name))
    this.#searches.set(name, search)
    return search
  }

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
    const holding = this.#holdingOf(name)
    this.#holdings.set(name, { ...holding, rootToken: token ?? holding.rootToken, isCurrent: token !== undefined })
    return token
  }

  #inherit(name: string, roles: ReadonlyMap<string, ReplicationStatuses>, seen: readonly string[] = []): ClusterKeys {
    const own = this.#holdingOf(name)
    const primary = seen.includes(name) ? undefined : this.#findPrimary(name, roles)
    if (primary === undefined) return own
    const { unsealKeys, threshold } = this.#inherit(primary, roles, [...seen, name])
    const status = roles.get(name)
    // A DR secondary accepts no tokens.
    const isCopy = status !== undefined && isFollower(status.dr)
    const isCurrent = own.isCurrent && !isCopy && unsealKeys.join() === own.unsealKeys.join()
    this.#holdings.set(name, { ...own, unsealKeys, threshold, isCurrent })
    return this.#holdingOf(name)
  }

  /** Returns the primary of a cluster: its DR primary, because DR replicates all data, otherwise its performance primary. */
  #findPrimary(name: string, roles: ReadonlyMap<string, ReplicationStatuses>): string | undefined {
    for (const kind of KINDS) {
      const role = roles.get(name)?.[kind]
      if (!role || !isFollower(role)) continue
      const found = this.#owners().find((owner) => {
        const theirs = roles.get(owner.name)?.[kind]
        const isOfSet = theirs?.mode === 'primary' && theirs.clusterId === role.clusterId
        return owner.name !== name && (isOfSet || isAt(owner, role.primaryAddress))
      })
      if (found) return found.name
    }
    return undefined
  }

  #holdingOf(name: string): Holding {
    return this.#holdings.get(name) ?? { rootToken: '', unsealKeys: [], threshold: 0, isCurrent: false }
  }
}

/** Whether an address belongs to a cluster: the address of any node counts. */
export const isAt = (
  { clusterAddress, clusterAddresses = [clusterAddress] }: Pick<KeyOwner, 'clusterAddress' | 'clusterAddresses'>,
  address: string,
): boolean => clusterAddresses.some((one) => one === address)

/** Returns true if the server accepts tokens: it is not sealed, not new, and not a DR secondary. */
const servesTokens = async (client: ApiClient): Promise<boolean> => {
  const { status } = await client.send('GET', 'sys/health', { query: { standbyok: 'true', perfstandbyok: 'true' } })
  return status === 200
}
