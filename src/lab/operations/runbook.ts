import type { Clock } from '../../base/clock.js'
import { type ApiClient, ApiError, errorsOf } from '../../client/api-client.js'
import { type ClusterAccess, clientOf, type LabAccess, withAnonymousClient } from '../model/cluster.js'
import type { EventDraft } from '../events/event.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { findLagBetween, type Status, statusOf } from '../requests/replication.js'
import { throughRestart } from '../requests/through-restart.js'
import { commandIn } from '../model/lab-directory.js'
import { type Shares, sharesToTry } from '../keys/candidates.js'
import { atSpeaker } from '../nodes/nodes.js'
import { nameSilent } from '../requests/unreachable.js'
import { waitFor } from '../requests/wait.js'
import { decodingLine, lineOf } from './lines.js'

/** One request of an operation, as a runbook would have it. Names in `<angle brackets>` stand for what is not known yet. */
export interface Step {
  readonly cluster: string
  readonly method: 'PUT' | 'GET' | 'DELETE'
  readonly path: string
  readonly body?: Readonly<Record<string, string | boolean | readonly string[]>>
  /** Sent with the root token of the cluster; what operators do with key shares or a batch token needs none. */
  readonly isAuthenticated?: boolean
}

export interface RunbookOptions {
  readonly clock: Clock
  /** Bound on each wait. */
  readonly timeoutMs: number
  readonly onProgress: (text: string) => void
  /** Called with the command line that makes each call by hand; shell variables stand for secrets. */
  readonly onCall?: ((line: string) => void) | undefined
  /** Told of each call that was made, without its secrets. */
  readonly tell?: ((event: EventDraft) => Promise<void>) | undefined
  /** Told of every answer, and with null of none. */
  readonly onAnswer?: ((step: Step, status: number | null, tookMs: number) => void) | undefined
  /** Only shows what would be done. */
  readonly isDryRun?: boolean | undefined
  /** Resolves to a root token that works on a cluster now. */
  readonly rootTokenOf: (cluster: string) => Promise<string>
}

type Body = Record<string, unknown>

/**
 * Does the calls of an operation one after the other and shows them. A dry run only shows them: it asks the clusters how
 * they are, so that it shows what would be called on this lab and is refused where that would be, and changes nothing.
 */
export class Runbook {
  readonly lab: LabAccess
  readonly #options: RunbookOptions
  /** The statuses that the calls which a dry run did not make would have brought about, by cluster and kind. */
  readonly #supposed = new Map<string, Status>()

  constructor(lab: LabAccess, options: RunbookOptions) {
    this.lab = lab
    this.#options = options
  }

  /** A dry run answers nothing. A server that restarts after a change of role is asked again. */
  async call(step: Step): Promise<Body> {
    const cluster = await this.#speaker(step.cluster)
    this.#options.onCall?.(lineOf(step, cluster.apiAddress))
    if (this.#options.isDryRun) return {}
    const client = clientOf({ ...cluster, rootToken: '' })
    const { rootTokenOf } = this.#options
    const ask = async () => this.#ask(client, step, step.isAuthenticated ? await rootTokenOf(cluster.name) : '')
    try {
      const answer = await this.#throughRestart(cluster, ask)
      await this.#options.tell?.(eventOf(step, cluster.apiAddress))
      return answer
    } finally {
      client.close()
    }
  }

  async #ask(client: ApiClient, step: Step, token: string): Promise<Body> {
    const { clock, onAnswer } = this.#options
    const sentMs = clock.monotonic()
    const told = (status: number | null) => onAnswer?.(step, status, clock.monotonic() - sentMs)
    try {
      const call = { ...(step.body ? { body: step.body } : {}), ...(token === '' ? {} : { token }) }
      const answer = await client.send(step.method, step.path, call)
      told(answer.status)
      if (answer.status < 400) return answer.json ?? {}
      throw new ApiError(step.method, client.urlOf(step.path), answer.status, errorsOf(answer))
    } catch (error) {
      if (!(error instanceof ApiError)) told(null)
      throw error
    }
  }

  /** Waits for a fact about the servers; a dry run has nothing to wait for. */
  async wait(what: string, fact: () => Promise<string | undefined>): Promise<void> {
    const { clock, timeoutMs, isDryRun } = this.#options
    if (!isDryRun) await waitFor(clock, what, fact, timeoutMs)
  }

  /** A fact that must hold before anything is changed. A dry run asks for it once, and is refused where it does not hold. */
  async need(what: string, fact: () => Promise<string | undefined>): Promise<void> {
    if (!this.isDryRun) return this.wait(what, fact)
    const missing = await fact()
    if (missing !== undefined) throw new LabError('remote', `it would wait for ${what}: ${missing}`)
  }

  /**
   * How a cluster replicates now; in a dry run, how it would after the calls so far. With `timeoutMs` it is asked once, and has
   * so long to answer.
   */
  async status(name: string, kind: Kind, timeoutMs?: number): Promise<Status> {
    const supposed = this.#supposed.get(`${name} ${kind}`)
    if (supposed) return supposed
    const cluster = this.cluster(name)
    const ask = async () =>
      withAnonymousClient(await this.#speaker(name), (client) => statusOf(client, kind), timeoutMs)
    return timeoutMs === undefined && !this.isDryRun ? this.#throughRestart(cluster, ask) : namingSilent(cluster, ask)
  }

  /** Of several nodes the one that is active, or may become so: any of them may have died since. */
  #speaker(name: string): Promise<ClusterAccess> {
    return atSpeaker(this.cluster(name))
  }

  #throughRestart<T>(cluster: ClusterAccess, ask: () => Promise<T>): Promise<T> {
    const wait = (fact: () => Promise<string | undefined>) => this.wait(`cluster ${cluster.name} to serve again`, fact)
    return namingSilent(cluster, () => throughRestart(wait, ask))
  }

  /** Why a secondary is behind; undefined when it is replicated. */
  findLag(primary: string, secondary: string, kind: Kind): Promise<string | undefined> {
    return findLagBetween(
      () => this.status(primary, kind),
      () => this.status(secondary, kind),
      kind,
    )
  }

  /** Tells a dry run what a call brings about. */
  suppose(name: string, kind: Kind, status: Status): void {
    if (this.isDryRun) this.#supposed.set(`${name} ${kind}`, status)
  }

  /** Shows the command that decodes an operation token by hand. */
  async showDecoding(name: string): Promise<void> {
    this.#options.onCall?.(decodingLine((await this.#speaker(name)).apiAddress))
  }

  /** Says what comes, and what it means; in a dry run too. */
  announce(text: string): void {
    this.#options.onProgress(text)
  }

  /** Says what is done. */
  say(text: string): void {
    if (!this.#options.isDryRun) this.#options.onProgress(text)
  }

  /** A command of ours that goes on with this lab, for whoever is told of it. */
  line(words: string): string {
    return commandIn(this.lab.name, words)
  }

  cluster(name: string): ClusterAccess {
    const found = this.lab.clusters.find((cluster) => cluster.name === name)
    if (found) return found
    const names = this.lab.clusters.map((cluster) => cluster.name).join(', ')
    throw new LabError('usage', `the lab "${this.lab.name}" has no cluster "${name}"; it has ${names}`)
  }

  get isDryRun(): boolean {
    return this.#options.isDryRun === true
  }

  /** Returns the sets of key shares to try on a cluster. */
  keysFor(name: string): readonly Shares[] {
    return sharesToTry(this.cluster(name), this.lab.clusters)
  }
}

const namingSilent = async <T>(cluster: ClusterAccess, ask: () => Promise<T>): Promise<T> => {
  try {
    return await ask()
  } catch (error) {
    throw nameSilent(cluster, error)
  }
}

const eventOf = ({ cluster, method, path, body }: Step, address: string): EventDraft => ({
  cluster,
  kind: 'call',
  details: { method, path },
  command: lineOf({ method, path, body }, address),
})
