import { type ApiClient, ApiError, errorsOf } from '../../client/api-client.js'
import { type ClusterAccess, clientOf, type LabAccess, requireCluster, withAnonymousClient } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { askExpectedLoss, askInfo, type ExpectedLoss, isInLastEpochOf } from '../requests/expected-loss.js'
import { type ClusterLoss, lacksLosses, readLosses } from '../requests/losses.js'
import { askStatus, findLagBetween, idOf } from '../requests/replication.js'
import { NO_STATUS, type ReplicationStatus } from '../requests/replication-status.js'
import { namingUnreachable, throughRestart } from '../requests/request-errors.js'
import { requireKeys, type Shares, sharesToTry } from '../keys/environment.js'
import { atReachableNode } from '../nodes/nodes.js'
import { waitFor } from '../requests/wait.js'
import { stepLineOf } from './lines.js'
import { type Check, describeChecks, describeLocal, describeRequest, type LocalCommand } from './procedure-steps.js'
import { OPTION_NAMES, type Operation, operationFor, type OptionNames } from './readers.js'
import { eventOf, type RunbookOptions, type Step } from './runbook-options.js'

type Body = Record<string, unknown>

/**
 * Sends the requests of an operation one by one and prints them. A dry run prints the requests without sending them. It
 * reads the state of the clusters to choose the requests for this lab and to detect errors.
 */
export class Runbook {
  readonly lab: LabAccess
  readonly #options: RunbookOptions
  /** The replication statuses that a dry run assumes after its skipped requests, by cluster and kind. */
  readonly #assumed = new Map<string, ReplicationStatus>()

  constructor(lab: LabAccess, options: RunbookOptions) {
    this.lab = lab
    this.#options = options
  }

  /** Sends a request. A dry run returns an empty response. Retries while a server restarts after a role change. */
  async call(step: Step): Promise<Body> {
    const cluster = await this.#reachableNode(step.cluster)
    this.#options.onCall?.(stepLineOf(step, cluster))
    this.#options.onStep?.(describeRequest(step, cluster))
    if (this.isDryRun) {
      if (step.isAuthenticated && !this.isWritten) requireKeys(this.lab, cluster)
      return {}
    }
    const client = clientOf({ ...cluster, rootToken: '' })
    const { rootTokenOf } = this.#options
    const ask = async () => this.#ask(client, step, step.isAuthenticated ? await rootTokenOf(cluster) : '')
    try {
      const answer = await this.#throughRestart(cluster, ask)
      await this.#options.emit?.(eventOf(step, cluster))
      return answer
    } finally {
      client.close()
    }
  }

  /** Sends a write, by default with the root token of the cluster. */
  write(cluster: string, path: string, body: NonNullable<Step['body']> = {}, isAuthenticated = true): Promise<Body> {
    const content = Object.keys(body).length > 0 ? { body } : {}
    return this.call({ cluster, method: 'PUT', path, ...content, isAuthenticated })
  }

  /** Reads a path, also in a dry run. The body has no `data` if the path is empty, or for a written runbook. */
  async read(name: string, path: string, isAuthenticated = true): Promise<Body> {
    if (this.isWritten) return {}
    return this.#throughRestart(this.cluster(name), async () => {
      const cluster = await this.#reachableNode(name)
      const call: { readonly token?: string } = isAuthenticated
        ? { token: await this.#options.rootTokenOf(cluster) }
        : {}
      return withAnonymousClient(cluster, (client) => client.call<Body>('GET', path, call, [404]))
    })
  }

  async #ask(client: ApiClient, step: Step, token: string): Promise<Body> {
    const { clock, onAnswer } = this.#options
    const sentMs = clock.monotonic()
    const notify = (status: number | null) => onAnswer?.(step, status, clock.monotonic() - sentMs)
    try {
      const call = { ...(step.body ? { body: step.body } : {}), ...(token === '' ? {} : { token }) }
      const answer = await client.send(step.method, step.path, call)
      notify(answer.status)
      if (answer.status < 400) return answer.json ?? {}
      throw new ApiError(step.method, client.urlOf(step.path), answer.status, errorsOf(answer))
    } catch (error) {
      if (!(error instanceof ApiError)) notify(null)
      throw error
    }
  }

  /** Waits until `fact` returns undefined. A dry run does not wait: its steps include `check`. */
  async wait(what: string, fact: () => Promise<string | undefined>, check?: Check): Promise<void> {
    const { clock, timeoutMs, onStep } = this.#options
    if (!this.isDryRun) return waitFor(clock, what, fact, timeoutMs)
    if (!check || !onStep) return
    const steps = describeChecks(`Wait for ${what}`, check, (name) => this.cluster(name))
    for (const step of steps) onStep({ ...step, isRepeated: true })
  }

  /** Waits for a precondition of a change. A dry run checks it once and rejects if it does not hold. */
  async waitForPrecondition(what: string, fact: () => Promise<string | undefined>, check?: Check): Promise<void> {
    const missing = this.isDryRun ? await fact() : undefined
    if (missing !== undefined) throw new LabError('remote', `the command would wait for ${what}: ${missing}`)
    await this.wait(what, fact, check)
  }

  /**
   * Returns the replication status of a cluster. A dry run returns the status that the previous requests would cause.
   * With `timeoutMs`, sends one request with this timeout.
   */
  async status(name: string, kind: Kind, timeoutMs?: number): Promise<ReplicationStatus> {
    const assumed = this.#assumed.get(`${name} ${kind}`)
    if (assumed) return assumed
    if (this.isWritten) return { ...NO_STATUS, mode: 'disabled' }
    const cluster = this.cluster(name)
    const ask = async () =>
      withAnonymousClient(await this.#reachableNode(name), (client) => askStatus(client, kind), timeoutMs)
    return timeoutMs === undefined ? this.#throughRestart(cluster, ask) : namingUnreachable(cluster, ask)
  }

  /** Returns what a failover from a primary that is down would lose. */
  async expectedLoss(lost: string, to: string): Promise<ExpectedLoss> {
    const { findLastPosition, clock } = this.#options
    if (this.isWritten) return { entries: 0, isExact: false, silentSeconds: null }
    const [secondary, last] = await Promise.all([this.status(to, 'dr'), findLastPosition?.(lost)])
    const facts = { secondary, last, nowMs: clock.now() }
    return withAnonymousClient(await this.#reachableNode(to), (client) => askExpectedLoss(client, facts))
  }

  /** See `isInLastEpochOf`. */
  async isInLastEpochOf(secondary: string, former: string): Promise<boolean> {
    const info = async (name: string) => withAnonymousClient(await this.#reachableNode(name), askInfo).catch(() => ({}))
    return isInLastEpochOf(await info(secondary), await info(former))
  }

  /**
   * Returns the losses that a cluster lists: none if the server does not support this request, and undefined if they
   * are unknown.
   */
  async losses(name: string): Promise<readonly ClusterLoss[] | undefined> {
    if (this.isDryRun) return []
    const ask = async () => withAnonymousClient(await this.#reachableNode(name), readLosses)
    return this.#throughRestart(this.cluster(name), ask).catch((error: unknown) =>
      lacksLosses(error) ? [] : undefined,
    )
  }

  /**
   * Returns the active node, or a node that may become active. Checks the nodes for each call, because nodes can fail.
   */
  #reachableNode(name: string): Promise<ClusterAccess> {
    return atReachableNode(this.cluster(name))
  }

  #throughRestart<T>(cluster: ClusterAccess, ask: () => Promise<T>): Promise<T> {
    if (this.isDryRun) return namingUnreachable(cluster, ask)
    const wait = (fact: () => Promise<string | undefined>) => this.wait(`cluster ${cluster.name} to restart`, fact)
    return namingUnreachable(cluster, () => throughRestart(wait, ask))
  }

  /** Returns why a secondary lacks data of its primary. Undefined if it is replicated. */
  findLag(primary: string, secondary: string, kind: Kind): Promise<string | undefined> {
    return findLagBetween(
      () => this.status(primary, kind),
      () => this.status(secondary, kind),
    )
  }

  /** Whether a fault of the lab stops the traffic between two clusters. */
  async isCut(one: string, other: string): Promise<boolean> {
    return (await this.#options.isCut?.(one, other)) ?? false
  }

  /** Sets the mode that a dry run assumes for a cluster from now on, with working replication. */
  assume(name: string, kind: Kind, mode: string): void {
    if (!this.isDryRun) return
    const status = { ...NO_STATUS, mode, state: 'stream-wals', connectionState: 'ready' }
    // A written runbook revokes former registrations, since it does not know which exist.
    const registered = this.isWritten && {
      secondaryId: idOf(kind, name),
      knownSecondaries: this.lab.clusters.map((cluster) => idOf(kind, cluster.name)),
    }
    this.#assumed.set(`${name} ${kind}`, { ...status, ...registered })
  }

  /** Prints a command that derives a value, such as an OTP. The operation itself does not run this command. */
  async show(name: string, command: LocalCommand): Promise<void> {
    const cluster = await this.#reachableNode(name)
    this.#options.onCall?.(command.line(cluster))
    this.#options.onStep?.(describeLocal(command, cluster))
  }

  /** Prints the next action and its meaning, also in a dry run. */
  announce(text: string): void {
    this.#options.onProgress(text)
  }

  /** Requests a confirmation before data is erased. Rejects if it is denied. */
  async confirmErase(what: string): Promise<void> {
    await this.#options.onErase?.(what)
  }

  /** Prints a completed action. */
  say(text: string): void {
    if (!this.isDryRun) this.#options.onProgress(text)
  }

  /** Prints a completed action, and records it as an event. */
  async note(cluster: string, text: string): Promise<void> {
    this.say(text)
    if (!this.isDryRun) await this.#options.emit?.({ cluster, kind: 'note', details: { text } })
  }

  /** Returns an operation on this lab for messages. */
  line(operation: Operation): string {
    return operationFor(this.#options.reader ?? 'command', this.lab.name, operation)
  }

  /** The names of options for messages. */
  get optionNames(): OptionNames {
    return OPTION_NAMES[this.#options.reader ?? 'command']
  }

  cluster(name: string): ClusterAccess {
    return requireCluster(this.lab, name)
  }

  /** Throws LabError `usage` unless these are two clusters of the lab. */
  requireTwo(one: string, other: string): void {
    for (const name of [one, other]) this.cluster(name)
    if (one === other) throw new LabError('usage', 'specify two different clusters')
  }

  get isDryRun(): boolean {
    return this.#options.isDryRun === true || this.isWritten
  }

  /** Whether this is a dry run for a written runbook, which sends no requests and needs no keys. */
  get isWritten(): boolean {
    return this.#options.isWritten === true
  }

  /** Returns the sets of key shares to try on a cluster. */
  keysFor(name: string): readonly Shares[] {
    return sharesToTry(this.cluster(name), this.lab.clusters)
  }
}
