import type { Kind } from '../../src/lab/model/kinds.js'
import type { Answer, Call } from '../../src/server/simulated/calls.js'
import type { SimulatedCluster } from '../../src/server/simulated/cluster.js'
import {
  after,
  type Answered,
  answersOf,
  nextRoles,
  describeRoles,
  NEW_ROLES,
  parseRoleCall,
  type RoleCall,
  type Roles,
  shows,
  UNKNOWN_TOKEN,
} from './role-model.js'

/** A call in progress. */
interface PendingCall {
  change: RoleCall | undefined
  /** The roles that the cluster may have had since the call was sent. */
  readonly seen: Set<Roles>
  /** True if no other role change was in progress at the same time. */
  isAlone: boolean
}

type Fail = (text: string) => never

/** The known facts about an operation token, which is valid only on the cluster that created it. */
interface OperationToken {
  readonly cluster: SimulatedCluster
  readonly credential: 'good' | 'unsure' | 'bad'
}

/** Shared by all clusters, because each token is also tried on other clusters. */
type OperationTokens = Map<string, OperationToken>

/** Derives from all responses of a cluster which roles it may have, and therefore how it may respond next. */
class KnownRoles {
  readonly #cluster: SimulatedCluster
  readonly #fail: Fail
  readonly #pending = new Set<PendingCall>()
  /** Calls that a node may still execute although the caller received an unknown outcome from another node. */
  readonly #unfinished = new Set<RoleCall>()
  readonly #operationTokens: OperationTokens
  #possible: ReadonlySet<Roles> = new Set(NEW_ROLES)
  /** True if the storage may contain a change that the server has not loaded, until it is reopened. */
  #isUnsettled = false
  /** True if the credentials that clients present are known to be valid. */
  areTokensSure = true
  /** True if nothing prevents a role change. */
  isUndisturbed = false

  constructor(cluster: SimulatedCluster, operationTokens: OperationTokens, fail: Fail) {
    this.#cluster = cluster
    this.#operationTokens = operationTokens
    this.#fail = fail
  }

  /**
   * Records that the cluster has reloaded its storage since the last call, and that no node still executes an earlier
   * one.
   */
  settle(): void {
    this.#isUnsettled = false
    this.#unfinished.clear()
  }

  /** Records that an operation token is about to be created. The caller may never receive it. */
  operationTokenBegun(): void {
    this.#endOperationTokens('unsure')
  }

  /** Records a new operation token, which invalidates the previous one. */
  operationTokenMade(token: string): void {
    this.#endOperationTokens('bad')
    this.#operationTokens.set(token, { cluster: this.#cluster, credential: 'good' })
  }

  get possible(): Iterable<Roles> {
    return this.#possible
  }

  async watch(call: Call, ask: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
    const pending = this.#begin(parseRoleCall(call, (token) => this.#judge(token)))
    this.#share(pending)
    const answer = await ask()
    this.#pending.delete(pending)
    const { change } = pending
    if (change) this.#judgeChange(pending, change, answer)
    else this.#judgeStatus(pending, call, answer)
    this.#spread()
    return answer
  }

  #judge(token: string): 'good' | 'unsure' | 'bad' {
    if (token === UNKNOWN_TOKEN) return 'bad'
    const made = this.#operationTokens.get(token)
    if (made) return made.cluster === this.#cluster ? made.credential : 'bad'
    return this.areTokensSure ? 'good' : 'unsure'
  }

  #begin(change: RoleCall | undefined): PendingCall {
    const changes = [...this.#pending].filter((one) => one.change)
    const pending = { change, seen: new Set<Roles>(), isAlone: changes.length === 0 }
    if (change) for (const other of this.#pending) other.isAlone = false
    this.#pending.add(pending)
    this.#spread()
    return pending
  }

  /** Handles concurrent calls with one operation token: the first granted call invalidates it. */
  #share(pending: PendingCall): void {
    const tokenOf = ({ change }: PendingCall) => change?.body.dr_operation_token || undefined
    const sharing = [...this.#pending].filter((one) => tokenOf(one) !== undefined && tokenOf(one) === tokenOf(pending))
    if (sharing.length < 2) return
    for (const one of sharing)
      if (one.change?.credential === 'good') one.change = { ...one.change, credential: 'unsure' }
  }

  /** Adds to each call the roles that all other calls may cause. */
  #spread(): void {
    for (const one of this.#pending) {
      const others = [...this.#pending].flatMap((other) => (other === one ? [] : (other.change ?? [])))
      for (const roles of closureOf(this.#possible, [...others, ...this.#unfinished])) one.seen.add(roles)
    }
  }

  #judgeChange(pending: PendingCall, change: RoleCall, answer: Answer | undefined): void {
    const { name, hasNodes } = this.#cluster
    const answered = answeredOf(answer, hasNodes)
    const from = [...pending.seen]
    const where = () => `${name}, which is ${describeRoles(this.#possible)}`
    const what = `${change.kind} ${change.action} with ${change.credential === 'none' ? 'no' : `a ${change.credential}`} token`
    if (answered === 'other') this.#fail(`${where()}, answers ${answer?.status} to ${what}`)
    if (answered === 'unknown' || answered === 'undone') {
      // A cluster that reaches another role by itself restarts then.
      const isMoving = from.some((roles) => nextRoles(roles).length > 0)
      if (this.isUndisturbed && pending.isAlone && !isMoving)
        this.#fail(
          `${where()}, answers ${answer?.status} to ${what}, and nothing prevents the change: ${JSON.stringify(answer?.json)}`,
        )
    } else if (!from.some((roles) => answersOf(roles, change).includes(answered)))
      this.#fail(`${where()}, answers ${answered} to ${what}: ${JSON.stringify(answer?.json)}`)
    const isDone = answered === 'ok' || answered === 'unknown'
    if (answered === 'unknown') this.#isUnsettled = true
    // A wipe may have removed tokens that were valid.
    if (isDone && change.action === 'secondary/enable') this.areTokensSure = false
    if (isDone && endsRole(change)) this.#endOperationTokens(answered === 'ok' ? 'bad' : 'unsure')
    if (answered === 'unknown' && hasNodes) this.#unfinished.add(change)
    if (!pending.isAlone || answered === 'unknown') {
      this.#possible = closureOf(pending.seen, [change])
      return
    }
    const before = from.filter((roles) => answered === 'undone' || answersOf(roles, change).includes(answered))
    this.#possible = new Set(isDone ? before.flatMap((roles) => after(roles, change)) : before)
  }

  /** Tokens that are already invalid stay invalid. */
  #endOperationTokens(as: 'bad' | 'unsure'): void {
    for (const [token, { cluster, credential }] of this.#operationTokens)
      if (cluster === this.#cluster && credential !== 'bad')
        this.#operationTokens.set(token, { cluster, credential: as })
  }

  #judgeStatus(pending: PendingCall, { path }: Call, answer: Answer | undefined): void {
    const [, kind] = STATUS.exec(path) ?? []
    if (!kind || answer?.status !== 200) return
    const { mode } = answer.json.data as { readonly mode: unknown }
    const fit = [...pending.seen].filter((roles) => shows(roles, kind as Kind, mode))
    if (fit.length === 0)
      this.#fail(`${this.#cluster.name} shows itself as ${kind} ${mode} and can only be ${describeRoles(pending.seen)}`)
    if (pending.isAlone && !this.#isUnsettled) this.#possible = new Set(fit)
  }
}

/** An operation token ends with the role it was created for. */
const endsRole = ({ kind, action }: RoleCall): boolean =>
  kind === 'dr' && (action === 'secondary/promote' || action === 'secondary/disable')

const STATUS = /^sys\/replication\/(dr|performance)\/status$/

/** Returns all roles that these roles may have become, by themselves and through some of the changes. */
const closureOf = (from: Iterable<Roles>, changes: readonly RoleCall[]): Set<Roles> => {
  const reached = new Set(from)
  for (const roles of reached) {
    for (const next of nextRoles(roles)) reached.add(next)
    for (const change of changes)
      if (answersOf(roles, change).includes('ok')) for (const next of after(roles, change)) reached.add(next)
  }
  return reached
}

/**
 * Classifies a response. `unknown`: no response, or a response that reports only an obstacle. `undone`: in a cluster
 * with several nodes, a response that states that nothing was executed.
 */
const answeredOf = (answer: Answer | undefined, hasNodes: boolean): Answered | 'unknown' | 'undone' | 'other' => {
  if (!answer) return 'unknown'
  const { status, json } = answer
  if (status < 300) return 'ok'
  if (status === 400 || status === 403) return status
  const errors = JSON.stringify(json.errors)
  if (status === 503 && errors.includes('provide the \\"force\\" argument')) return 'unsafe'
  const isUnknown = errors.includes('outcome unknown')
  if (status === 503) return hasNodes && !isUnknown ? 'undone' : 'unknown'
  return status === 502 && hasNodes && isUnknown ? 'unknown' : 'other'
}

/** Compares the responses to role changes with the predictions of the contract. */
export class RoleJudge {
  readonly #fail: Fail
  readonly #known = new Map<string, KnownRoles>()
  readonly #operationTokens: OperationTokens = new Map()

  constructor(fail: Fail) {
    this.#fail = fail
  }

  of(cluster: SimulatedCluster): KnownRoles {
    const { name } = cluster
    const known = this.#known.get(name) ?? new KnownRoles(cluster, this.#operationTokens, this.#fail)
    this.#known.set(name, known)
    return known
  }

  watch(cluster: SimulatedCluster, call: Call, ask: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
    return call.path.startsWith('sys/replication/') ? this.of(cluster).watch(call, ask) : ask()
  }
}
