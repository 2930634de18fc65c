import { type Clock, systemClock } from '../../base/clock.js'
import { suggestion } from '../../base/nearest.js'
import type { Exchange } from '../../client/exchange.js'
import type { LabCluster } from '../in-process/in-process-cluster.js'
import type { ClusterAccess, LabAccess } from '../model/cluster.js'
import { checkArguments } from '../documents/arguments.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { activate } from '../operations/role-changes.js'
import { failOver } from '../operations/failover.js'
import { operationToken, rejoin, switchOver } from '../operations/operations.js'
import { Runbook } from '../operations/runbook.js'
import { parseAcceptedLoss } from '../requests/expected-loss.js'
import type { Topology } from '../model/topology.js'
import { waitFor } from '../requests/wait.js'
import { makeTopology, openCluster, type WireOptions } from '../wiring/wire.js'
import { findProblems, findUnreplicated } from './findings.js'
import { type FailoverOptions, OPERABLE_ARGUMENTS } from './options.js'
import { type KeyOwner, KeyRing } from '../keys/key-ring.js'

/**
 * Options for making a cluster a secondary of another.
 *
 * @example
 * import { type ActivateOptions, startLab } from 'understudy-lab'
 *
 * const european: ActivateOptions = { kind: 'performance', filter: { mode: 'allow', paths: ['eu/'] } }
 * await using lab = await startLab({ name: 'two', about: 'two independent clusters', clusters: ['A', 'C'], links: [] })
 * await lab.activate('A', 'C', european)
 */
export interface ActivateOptions {
  readonly kind: Kind
  /** Path filter of a performance secondary. `paths`: mounts such as `kv/`, or namespaces. */
  readonly filter?: { readonly mode: 'allow' | 'deny'; readonly paths: readonly string[] } | undefined
}

/**
 * Options of an operation that reports its requests.
 *
 * @example
 * import { type OperationOptions, startLab } from 'understudy-lab'
 *
 * const options: OperationOptions = { onCall: (line) => console.log(line) }
 * await using lab = await startLab('dr')
 * await lab.switchover('A', 'B', options) // prints each call as `vault write ...`
 */
export interface OperationOptions {
  /** Called with the equivalent command line of each request. */
  readonly onCall?: ((line: string) => void) | undefined
}

/**
 * The maximum time that a lab waits for a condition. Then it rejects with LabError `timeout`.
 *
 * @example
 * import { startLab, type WaitOptions } from 'understudy-lab'
 *
 * const patient: WaitOptions = { timeoutMs: 120_000 }
 * await using lab = await startLab('pr')
 * await lab.converged(patient)
 */
export interface WaitOptions {
  /** Milliseconds. Default: the `timeoutMs` of the lab. */
  readonly timeoutMs?: number | undefined
}

/** The clock and the transport of a simulated lab. Default: the system clock, and sockets. */
interface Overrides {
  readonly clock?: Clock
  readonly exchange?: Exchange
}

/** A lab with the operations that use only the API of its clusters: in this process, in containers, or simulated. */
export abstract class OperableLab<Names extends string, C extends KeyOwner> {
  abstract readonly clusters: readonly C[]
  readonly topology: Topology
  protected readonly timeoutMs: number
  protected readonly keys: KeyRing
  readonly #closing: AbortSignal | undefined
  readonly #clock: Clock

  static {
    checkArguments(OperableLab.prototype, OPERABLE_ARGUMENTS)
  }

  /** `closing`: when this signal is aborted, waits reject with its reason. */
  protected constructor(topology: Topology, timeoutMs: number, closing?: AbortSignal, overrides: Overrides = {}) {
    const { clock = systemClock, exchange } = overrides
    this.#clock = clock
    this.topology = topology
    this.timeoutMs = timeoutMs
    this.#closing = closing
    this.keys = new KeyRing(() => this.clusters, clock, exchange)
  }

  /** Returns the pairs of clusters whose link is partitioned or has a fault. */
  protected abstract findFaultyLinks(): readonly string[] | Promise<readonly string[]>

  /** Returns the link between two clusters. */
  abstract link(one: string, other: string): { readonly isCut: boolean | Promise<boolean> }

  /** Returns `lab.A` for a name that is known only at run time. Throws LabError `usage` for an unknown name. */
  cluster(name: Names): C {
    const found = this.clusters.find((cluster) => cluster.name === name)
    if (found) return found
    const names = this.clusters.map((cluster) => cluster.name)
    const close = suggestion(name, names) || `; it has ${names.join(', ')}`
    throw new LabError('usage', `the topology ${this.topology.name} has no cluster ${name}${close}`)
  }

  /**
   * Fails over from a lost primary to its DR secondary. If the primary is still running, demotes it first, so that
   * there are never two primaries. Rejects with ApiError for an error of the server, or with LabError, for example if
   * log entries may be lost.
   *
   * @example
   * await lab.A.crash()
   * await lab.failover('A', 'B', { acceptLoss: 'any' })
   */
  async failover(lost: Names, to: Names, options: OperationOptions & FailoverOptions = {}): Promise<void> {
    const { force = false, acceptLoss = 0 } = options
    const failover = { lost, to, isForced: force, acceptLoss: parseAcceptedLoss(acceptLoss) }
    await this.#operate([lost, to], options, (book) => failOver(book, failover))
  }

  /** Switches the roles of a healthy primary and its DR secondary without data loss. Rejects as `failover` does. */
  async switchover(primary: Names, secondary: Names, options: OperationOptions = {}): Promise<void> {
    await this.#operate([primary, secondary], options, (book) => switchOver(book, primary, secondary))
  }

  /** Makes a restarted former primary a DR secondary of its successor. Rejects as `failover` does. */
  async rejoin(former: Names, primary: Names, options: OperationOptions = {}): Promise<void> {
    await this.#operate([former, primary], options, (book) => rejoin(book, former, primary))
  }

  /**
   * Makes `secondary` a secondary of `primary` and waits until it is replicated. Erases the data of `secondary`.
   * Rejects with LabError `remote` if replication of this kind is already enabled on `secondary`.
   *
   * @example
   * await lab.activate('A', 'C', { kind: 'performance', filter: { mode: 'deny', paths: ['EU/'] } })
   */
  async activate(primary: Names, secondary: Names, options: ActivateOptions & OperationOptions): Promise<void> {
    const { kind, filter } = options
    if (filter && kind !== 'performance') throw new LabError('usage', 'only performance secondaries can have filters')
    const text = filter && { mode: filter.mode, paths: filter.paths.join(',') }
    await this.#operate([primary, secondary], options, (book) => activate(book, primary, secondary, kind, text))
  }

  /** Returns a one-time DR operation token for an operation such as `secondary/promote`. */
  async operationToken(secondary: Names, options: OperationOptions = {}): Promise<string> {
    return this.#operate([secondary], options, (book) => operationToken(book, secondary))
  }

  /**
   * Waits until every secondary streams and has its primary's Merkle root. A secondary without a primary, or a stopped
   * secondary of a running primary, is not replicated. Rejects with LabError `timeout` and the unmet condition.
   */
  async converged(options: WaitOptions = {}): Promise<void> {
    const find = () => findUnreplicated(this.clusters, this.topology)
    await this.#until('every secondary to be replicated', find, options)
    await this.keys.settle()
  }

  /**
   * Waits until the lab is healthy: all clusters run and are unsealed, no link has a fault, and no replication set has
   * two primaries. Every secondary streams and, once it has all changes, has its primary's Merkle root. Rejects with
   * LabError `timeout`, which names the problem.
   */
  async healthy(options: WaitOptions = {}): Promise<void> {
    await this.#until('the lab to be healthy', async () => (await this.problems()).join('; ') || undefined, options)
  }

  /** Returns the current problems, with the names of the clusters. Empty if the lab is healthy. */
  async problems(): Promise<string[]> {
    return findProblems(this.clusters, await this.findFaultyLinks(), this.#clock)
  }

  /** Returns the lab for operations and drills. Its clusters always have their current addresses and keys. */
  access(): LabAccess {
    const keys = this.keys
    return {
      name: this.topology.name,
      get clusters() {
        return keys.access()
      },
    }
  }

  async #until(what: string, fact: () => Promise<string | undefined>, options: WaitOptions): Promise<void> {
    const { timeoutMs = this.timeoutMs } = options
    await waitFor(this.#clock, what, fact, timeoutMs, this.#closing)
  }

  /** Runs an operation, which is also a command. Afterwards, updates the keys that the operation changed. */
  async #operate<T>(
    names: readonly Names[],
    { onCall }: OperationOptions,
    work: (book: Runbook) => Promise<T>,
  ): Promise<T> {
    for (const name of names) this.cluster(name)
    const keys = this.keys
    const book = new Runbook(this.access(), {
      clock: this.#clock,
      timeoutMs: this.timeoutMs,
      reader: 'library',
      onProgress: () => undefined,
      onCall,
      isCut: async (one, other) => this.link(one, other).isCut,
      rootTokenOf: async ({ name }) => (await keys.findToken(name)) ?? '',
    })
    try {
      return await work(book)
    } finally {
      await keys.settle()
    }
  }
}

/** Initializes the running clusters of a lab and joins them as its topology describes. Afterwards, all are unsealed. */
export const wireLab = async (
  { clusters, topology }: Pick<OperableLab<string, LabCluster>, 'clusters' | 'topology'>,
  keys: KeyRing,
  given: Omit<WireOptions, 'plans'>,
): Promise<void> => {
  const options: WireOptions = { ...given, plans: topology.plans }
  // The nodes of a secondary seal themselves when it joins.
  const openAll = async (known: readonly ClusterAccess[]) => {
    for (const one of known) keys.set(one.name, one)
    await Promise.all(clusters.filter(({ nodes }) => nodes.length > 1).map((cluster) => cluster.open()))
  }
  const open = await Promise.all(keys.access().map((cluster) => openCluster(cluster, options)))
  await openAll(open)
  await openAll(await makeTopology(open, topology, options))
}
