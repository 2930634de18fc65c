import type { Kind } from '../../src/lab/model/kinds.js'
import type { Answer, Call } from '../../src/server/simulated/calls.js'
import type { SimulatedCluster } from '../../src/server/simulated/cluster.js'
import {
  after,
  type Answered,
  answersOf,
  comesTo,
  describeRoles,
  NEW_ROLES,
  parseRoleCall,
  type RoleCall,
  type Roles,
  shows,
  UNKNOWN_TOKEN,
} from './role-model.js'

/** A call that is under way. */
interface Watched {
  change: RoleCall | undefined
  /** The roles that the cluster may have had since it was sent. */
  readonly seen: Set<Roles>
  /** No change of a role was under way at the same time. */
  isAlone: boolean
}

type Fail = (text: string) => never

/** What is known of an operation token, which is good nowhere but at the cluster that made it. */
interface OperationToken {
  readonly cluster: SimulatedCluster
  readonly credential: 'good' | 'unsure' | 'bad'
}

/** Of all clusters: each token is tried at others too. */
type OperationTokens = Map<string, OperationToken>

/** Knows from all that a cluster has answered which roles it may have, and so what it may answer next. */
class KnownRoles {
  readonly #cluster: SimulatedCluster
  readonly #fail: Fail
  readonly #underWay = new Set<Watched>()
  /** Of several nodes one may still do what another one was asked for, long after who has asked was told that nobody knows. */
  readonly #lost = new Set<RoleCall>()
  readonly #operationTokens: OperationTokens
  #possible: ReadonlySet<Roles> = new Set(NEW_ROLES)
  /** The storage may have what the server has not taken in, until it is opened again. */
  #isUnsettled = false
  /** What a client shows of itself is known to be good. */
  areTokensSure = true
  /** Nothing is in the way of a change. */
  isUndisturbed = false

  constructor(cluster: SimulatedCluster, operationTokens: OperationTokens, fail: Fail) {
    this.#cluster = cluster
    this.#operationTokens = operationTokens
    this.#fail = fail
  }

  /** It has read what is stored since it was asked for something the last time, and no node does anything of that any more. */
  settle(): void {
    this.#isUnsettled = false
    this.#lost.clear()
  }

  /** One is about to be made, and whoever asks for it may never hear that it was. */
  operationTokenBegun(): void {
    this.#endOperationTokens('unsure')
  }

  /** The one before is dead. */
  operationTokenMade(token: string): void {
    this.#endOperationTokens('bad')
    this.#operationTokens.set(token, { cluster: this.#cluster, credential: 'good' })
  }

  get possible(): Iterable<Roles> {
    return this.#possible
  }

  async watch(call: Call, ask: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
    const watched = this.#begin(parseRoleCall(call, (token) => this.#judge(token)))
    this.#share(watched)
    const answer = await ask()
    this.#underWay.delete(watched)
    const { change } = watched
    if (change) this.#judgeChange(watched, change, answer)
    else this.#judgeStatus(watched, call, answer)
    this.#spread()
    return answer
  }

  #judge(token: string): 'good' | 'unsure' | 'bad' {
    if (token === UNKNOWN_TOKEN) return 'bad'
    const made = this.#operationTokens.get(token)
    if (made) return made.cluster === this.#cluster ? made.credential : 'bad'
    return this.areTokensSure ? 'good' : 'unsure'
  }

  #begin(change: RoleCall | undefined): Watched {
    const changes = [...this.#underWay].filter((one) => one.change)
    const watched = { change, seen: new Set<Roles>(), isAlone: changes.length === 0 }
    if (change) for (const other of this.#underWay) other.isAlone = false
    this.#underWay.add(watched)
    this.#spread()
    return watched
  }

  /** Of those who show one operation token at once the first that is granted spends it. */
  #share(watched: Watched): void {
    const tokenOf = ({ change }: Watched) => change?.body.dr_operation_token || undefined
    const sharing = [...this.#underWay].filter((one) => tokenOf(one) !== undefined && tokenOf(one) === tokenOf(watched))
    if (sharing.length < 2) return
    for (const one of sharing)
      if (one.change?.credential === 'good') one.change = { ...one.change, credential: 'unsure' }
  }

  /** Each sees what all the others may bring about. */
  #spread(): void {
    for (const one of this.#underWay) {
      const others = [...this.#underWay].flatMap((other) => (other === one ? [] : (other.change ?? [])))
      for (const roles of closureOf(this.#possible, [...others, ...this.#lost])) one.seen.add(roles)
    }
  }

  #judgeChange(watched: Watched, change: RoleCall, answer: Answer | undefined): void {
    const { name, hasNodes } = this.#cluster
    const answered = answeredOf(answer, hasNodes)
    const from = [...watched.seen]
    const where = () => `${name}, which is ${describeRoles(this.#possible)}`
    const what = `${change.kind} ${change.action} with ${change.credential === 'none' ? 'no' : `a ${change.credential}`} token`
    if (answered === 'other') this.#fail(`${where()}, answers ${answer?.status} to ${what}`)
    if (answered === 'unknown' || answered === 'undone') {
      // Whoever comes to another role by itself restarts then.
      const isMoving = from.some((roles) => comesTo(roles).length > 0)
      if (this.isUndisturbed && watched.isAlone && !isMoving)
        this.#fail(
          `${where()}, answers ${answer?.status} to ${what}, and nothing is in its way: ${JSON.stringify(answer?.json)}`,
        )
    } else if (!from.some((roles) => answersOf(roles, change).includes(answered)))
      this.#fail(`${where()}, answers ${answered} to ${what}: ${JSON.stringify(answer?.json)}`)
    const isDone = answered === 'ok' || answered === 'unknown'
    if (answered === 'unknown') this.#isUnsettled = true
    // What was good there may be gone with all the rest.
    if (isDone && change.action === 'secondary/enable') this.areTokensSure = false
    if (isDone && endsRole(change)) this.#endOperationTokens(answered === 'ok' ? 'bad' : 'unsure')
    if (answered === 'unknown' && hasNodes) this.#lost.add(change)
    if (!watched.isAlone || answered === 'unknown') {
      this.#possible = closureOf(watched.seen, [change])
      return
    }
    const before = from.filter((roles) => answered === 'undone' || answersOf(roles, change).includes(answered))
    this.#possible = new Set(isDone ? before.flatMap((roles) => after(roles, change)) : before)
  }

  /** What is bad already stays so. */
  #endOperationTokens(as: 'bad' | 'unsure'): void {
    for (const [token, { cluster, credential }] of this.#operationTokens)
      if (cluster === this.#cluster && credential !== 'bad')
        this.#operationTokens.set(token, { cluster, credential: as })
  }

  #judgeStatus(watched: Watched, { path }: Call, answer: Answer | undefined): void {
    const [, kind] = STATUS.exec(path) ?? []
    if (!kind || answer?.status !== 200) return
    const { mode } = answer.json.data as { readonly mode: unknown }
    const fit = [...watched.seen].filter((roles) => shows(roles, kind as Kind, mode))
    if (fit.length === 0)
      this.#fail(`${this.#cluster.name} shows itself as ${kind} ${mode} and can only be ${describeRoles(watched.seen)}`)
    if (watched.isAlone && !this.#isUnsettled) this.#possible = new Set(fit)
  }
}

/** An operation token ends with the role that it was made for. */
const endsRole = ({ kind, action }: RoleCall): boolean =>
  kind === 'dr' && (action === 'secondary/promote' || action === 'secondary/disable')

const STATUS = /^sys\/replication\/(dr|performance)\/status$/

/** Whatever these roles may have become by themselves and by some of the changes. */
const closureOf = (from: Iterable<Roles>, changes: readonly RoleCall[]): Set<Roles> => {
  const reached = new Set(from)
  for (const roles of reached) {
    for (const next of comesTo(roles)) reached.add(next)
    for (const change of changes)
      if (answersOf(roles, change).includes('ok')) for (const next of after(roles, change)) reached.add(next)
  }
  return reached
}

/**
 * `unknown`: no answer, or one that says no more than that something was in the way. `undone`: of several nodes one that says
 * so was in time to keep it from being done.
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

/** Compares what clusters answer to who changes their roles with what the contract predicts of it. */
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
