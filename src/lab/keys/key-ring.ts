import type { Clock } from '../../base/clock.js'
import type { ApiClient, TokenSource } from '../../client/api-client.js'
import type { Exchange } from '../../client/exchange.js'
import type { ClusterAccess, ClusterKeys } from '../model/cluster.js'
import { type Shares, sharesToTry } from './candidates.js'
import { environmentOf } from './environment.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { statusOf } from '../requests/replication.js'
import { waitFor } from '../requests/wait.js'

/** A cluster whose keys are kept here. */
export interface KeyOwner {
  readonly name: string
  readonly apiAddress: string
  readonly clusterAddress: string
  readonly nodeAddresses?: readonly string[] | undefined
  /** Of all its nodes, where it has several. */
  readonly clusterAddresses?: readonly string[]
  readonly caFile?: string | undefined
  readonly isRunning: boolean
  readonly anonymous: ApiClient
}

interface Holding extends ClusterKeys {
  /** Whether the token was good when it was last asked for; one of an earlier role may be good elsewhere. */
  readonly isCurrent: boolean
}

type Role = Readonly<Record<string, unknown>>
type Roles = Readonly<Record<Kind, Role>>

/** A server that takes a new role makes no token for a moment. */
const SETTLING_MS = 3000
const CHANGES_KEYS = /^sys\/replication\/(?:(?:dr|performance)\/)?(?:primary|secondary)\/(?!secondary-token)[\w-]+$/

/**
 * Which key shares and which root token open each cluster of a lab now. A secondary takes over the shares of its primary,
 * and a promoted one its tokens; roles move, so the servers are asked whenever a token is missing or refused.
 */
export class KeyRing {
  readonly #owners: () => readonly KeyOwner[]
  readonly #clock: Clock
  readonly #exchange: Exchange | undefined
  readonly #holdings = new Map<string, Holding>()
  /** All that were ever used: a join that fails leaves a cluster with the ones it had. */
  readonly #shares = new Map<string, Shares>()
  readonly #searches = new Map<string, Promise<string | undefined>>()

  /** `exchange`: what carries requests to all of them, where no socket leads there. */
  constructor(owners: () => readonly KeyOwner[], clock: Clock, exchange?: Exchange) {
    this.#exchange = exchange
    this.#owners = owners
    this.#clock = clock
  }

  /** As it was known last. The token is empty where none works, as on a DR secondary. */
  keysOf(name: string): ClusterKeys {
    const { rootToken, unsealKeys, threshold, isCurrent } = this.#holdingOf(name)
    return { rootToken: isCurrent ? rootToken : '', unsealKeys, threshold }
  }

  /** Changes the keys that are named; others stay as they are. */
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

  /** The clusters with all that is known of their keys, as operations want them. */
  access(): readonly ClusterAccess[] {
    return this.#owners().map(({ name, apiAddress, nodeAddresses, caFile }): ClusterAccess => {
      const { rootToken, unsealKeys, threshold } = this.#holdingOf(name)
      const exchange = this.#exchange
      return { name, apiAddress, nodeAddresses, caFile, exchange, rootToken, unsealKeys, threshold }
    })
  }

  /** For clients of one cluster. */
  tokensOf(name: string): TokenSource {
    return {
      current: async () => this.keysOf(name).rootToken || this.findToken(name),
      insteadOf: async (refused) => {
        const { rootToken } = this.keysOf(name)
        return rootToken !== '' && rootToken !== refused ? rootToken : this.findToken(name)
      },
    }
  }

  /** A token that works on the cluster now; one is made of its key shares where none of the lab does. */
  findToken(name: string): Promise<string | undefined> {
    return this.#findOnce(name, async () => {
      const owner = this.#owners().find((each) => each.name === name)
      if (!owner?.isRunning) return undefined
      await this.follow()
      return this.#search(owner)
    })
  }

  /** After a change of roles: every running cluster is asked whom it follows, and takes over the keys of that cluster. */
  async follow(): Promise<void> {
    const roles = new Map<string, Roles>()
    await Promise.all(
      this.#owners()
        .filter(({ isRunning }) => isRunning)
        .map(async ({ name, anonymous }) => {
          const found = await rolesOf(anonymous).catch(() => undefined)
          if (found) roles.set(name, found)
        }),
    )
    for (const name of roles.keys()) this.#inherit(name, roles)
  }

  /** Follows, and sees to a token wherever none is known to work. */
  async settle(): Promise<void> {
    await this.follow()
    const open = this.#owners().filter(({ name }) => this.keysOf(name).rootToken === '')
    await Promise.all(open.map((owner) => this.#findOnce(owner.name, () => this.#search(owner))))
  }

  /** A call through a client of the lab that may have changed who follows whom. */
  async noteCall(name: string, path: string): Promise<void> {
    if (!CHANGES_KEYS.test(path)) return
    const holding = this.#holdingOf(name)
    this.#holdings.set(name, { ...holding, isCurrent: false })
    await this.follow()
  }

  /** Returns the sets of shares to unseal a cluster with: its own, then all that were ever used in the lab. */
  candidatesFor(name: string): readonly Shares[] {
    return sharesToTry<Shares>(this.#holdingOf(name), this.#shares.values())
  }

  /** Two ceremonies at once would disturb each other. */
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

  #inherit(name: string, roles: ReadonlyMap<string, Roles>, seen: readonly string[] = []): ClusterKeys {
    const own = this.#holdingOf(name)
    const primary = seen.includes(name) ? undefined : this.#findPrimary(name, roles)
    if (primary === undefined) return own
    const { unsealKeys, threshold } = this.#inherit(primary, roles, [...seen, name])
    const isCurrent = own.isCurrent && !isCopy(roles.get(name)) && unsealKeys.join() === own.unsealKeys.join()
    this.#holdings.set(name, { ...own, unsealKeys, threshold, isCurrent })
    return this.#holdingOf(name)
  }

  /** Whose copy a cluster is: first by DR, which covers everything, then by performance. */
  #findPrimary(name: string, roles: ReadonlyMap<string, Roles>): string | undefined {
    for (const kind of KINDS) {
      const role = roles.get(name)?.[kind]
      if (role?.mode !== 'secondary' && role?.mode !== 'bootstrapping') continue
      const found = this.#owners().find((owner) => {
        const theirs = roles.get(owner.name)?.[kind]
        const isOfSet = theirs?.mode === 'primary' && theirs.cluster_id === role.cluster_id
        return owner.name !== name && (isOfSet || isAt(owner, role.primary_cluster_addr))
      })
      if (found) return found.name
    }
    return undefined
  }

  #holdingOf(name: string): Holding {
    return this.#holdings.get(name) ?? { rootToken: '', unsealKeys: [], threshold: 0, isCurrent: false }
  }
}

/** Whether a cluster is reached at an address: that of any node stands for all of them. */
export const isAt = (
  { clusterAddress, clusterAddresses = [clusterAddress] }: Pick<KeyOwner, 'clusterAddress' | 'clusterAddresses'>,
  address: unknown,
): boolean => clusterAddresses.some((one) => one === address)

const rolesOf = async (client: ApiClient): Promise<Roles> => {
  const [dr, performance] = await Promise.all(KINDS.map((kind) => statusOf(client, kind)))
  return { dr: dr ?? {}, performance: performance ?? {} }
}

/** A DR secondary serves no token. */
const isCopy = (roles: Roles | undefined): boolean =>
  roles?.dr.mode === 'secondary' || roles?.dr.mode === 'bootstrapping'

/** Whether the server is active or a performance secondary: others are sealed, new or DR secondaries. */
const servesTokens = async (client: ApiClient): Promise<boolean> => {
  const { status } = await client.send('GET', 'sys/health', { query: { standbyok: 'true', perfstandbyok: 'true' } })
  return status === 200
}
