import type { Kind } from '../../src/lab/model/kinds.js'
import { generateOperationToken } from '../../src/lab/requests/replication.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { judgeCaches } from './caches.js'
import { judgeCopies, judgeStorage } from './judges.js'
import { followsNobody, judgeSecrets, secretsOf } from './kept-secrets.js'
import { drawMishap } from './mishaps.js'
import { answersOf, isOperation, ROLE_ACTIONS, type RoleAction, type RoleCall, UNKNOWN_TOKEN } from './role-model.js'
import type { Servers } from './servers.js'
import type { Member, World } from './world.js'

/** The fraction of seeds that end with a role walk. */
const PART = 0.5
const STEPS_MIN = 4
const STEPS_MAX = 10
/** Number of draws, because few of all possible steps are granted by the contract. */
const TRIES = 4
const PATIENCE_MS = 20_000
const CALL_MS_MAX = 100
/** Longer than a message takes. */
const ARRIVED_MS = 500
const IDS = ['a', 'b', 'c', 'walk']

/**
 * At the end of a run, requests random role changes, possible or not. `role-judge.ts` judges every response: nothing
 * prevents a change except the walk itself. Values stored by clients must stay. At the end, stored data must be
 * complete and equal to the caches.
 */
export const runRoleWalk = async (world: World): Promise<void> => {
  const chance = new Chance(`${world.plan.seed} roles`)
  if (!chance.happens(PART)) return
  // Drawn from a separate stream, so that clusters without nodes are not affected.
  const ofNodes = new Chance(`${world.plan.seed} roles of nodes`)
  const spent: string[] = []
  const steps = STEPS_MIN + chance.below(STEPS_MAX - STEPS_MIN)
  for (let step = 0; step < steps; step++) {
    const member = chance.pick(world.members)
    await settle(world, member)
    const draft = draw(world, member, chance)
    const isTwofold = chance.happens(0.15)
    const crashMs = chance.happens(0.15) ? chance.next() * CALL_MS_MAX : undefined
    const mishap = member.cluster.hasNodes && ofNodes.happens(0.5) ? drawMishap(world, member, ofNodes) : undefined
    const isKept = draft.action !== 'secondary/enable' && followsNobody(world, member)
    const secrets = isKept ? await secretsOf(member) : undefined
    await world.act(`role ${draft.kind} ${draft.action}`, async () => {
      const known = world.roles.of(member.cluster)
      const send = await prepare(world, member, draft, { spent, chance })
      known.isUndisturbed = crashMs === undefined && mishap === undefined
      await Promise.all([
        send(),
        ...(isTwofold ? [send()] : []),
        ...(crashMs === undefined ? [] : [world.clock.sleep(crashMs).then(() => member.cluster.crash(true))]),
        ...(mishap ? [mishap()] : []),
      ])
      known.isUndisturbed = false
    })
    await settle(world, member)
    if (secrets) await judgeSecrets(world, member, secrets)
  }
  for (const member of world.members) {
    await settle(world, member)
    await judgeCopies(world, member)
    await judgeStorage(world, member)
  }
  await judgeCaches(world)
}

/** Steps from a performance secondary to its own DR set, and then to a performance set. */
const TO_SECOND_SET = [
  { kind: 'performance', action: 'secondary/disable' },
  { kind: 'dr', action: 'primary/enable' },
  { kind: 'performance', action: 'secondary/enable' },
] as const satisfies readonly Pick<Draft, 'kind' | 'action'>[]
const SECOND_SET_PART = 0.2

/** Gives a valid activation token of a performance primary to a DR primary, which must reject it. */
export const runSecondSet = async (world: World, { primary, secondary }: Servers): Promise<void> => {
  const chance = new Chance(`${world.plan.seed} second set`)
  if (!secondary || !chance.happens(SECOND_SET_PART)) return
  for (const step of TO_SECOND_SET) {
    await settle(world, secondary)
    const giver = step.action === 'secondary/enable' ? primary : undefined
    const draft: Draft = { ...step, credential: 'good', body: {}, giver }
    await world.act(`second set ${step.kind} ${step.action}`, async () => {
      const send = await prepare(world, secondary, draft, { spent: [], chance })
      await send()
    })
  }
}

interface Draft {
  readonly kind: Kind
  readonly action: RoleAction
  readonly credential: 'good' | 'bad' | 'none'
  readonly body: Readonly<Record<string, unknown>>
  /** The cluster that issues a token, if the call needs one. */
  readonly giver: Member | undefined
}

/** Draws a role change, more often than not one that the cluster may grant. */
const draw = (world: World, member: Member, chance: Chance): Draft => {
  let drawn = drawAny(world, member, chance)
  const possible = [...world.roles.of(member.cluster).possible]
  const isGranted = (call: Omit<RoleCall, 'credential'>) =>
    possible.some((roles) => answersOf(roles, { ...call, credential: 'good' }).includes('ok'))
  for (let tries = 1; tries < TRIES && !isGranted(drawn); tries++) drawn = drawAny(world, member, chance)
  // A caller without permission is rejected, even if the cluster would grant the change to another caller.
  return { ...drawn, credential: chance.weighed({ good: 8, bad: 2, none: 1 }) }
}

const drawAny = (world: World, member: Member, chance: Chance): Omit<Draft, 'credential'> => {
  const kind = chance.pick(['dr', 'performance'] as const)
  const action = chance.pick(ROLE_ACTIONS)
  const giver = chance.pick(world.members.filter((other) => other !== member))
  const what = chance.weighed({ token: 6, blank: 2, unknown: 1 })
  const id = chance.pick(IDS)
  const force = chance.happens(0.5)
  if (action === 'secondary/promote') return { kind, action, body: { force }, giver: undefined }
  if (action === 'primary/secondary-token' || action === 'primary/revoke-secondary')
    return { kind, action, body: { id }, giver: undefined }
  if (action !== 'secondary/enable' && action !== 'secondary/update-primary')
    return { kind, action, body: {}, giver: undefined }
  if (what === 'token') return { kind, action, body: {}, giver }
  const token = what === 'blank' && action === 'secondary/update-primary' ? '' : UNKNOWN_TOKEN
  return { kind, action, body: { token }, giver: undefined }
}

interface Means {
  /** Operation tokens that were used before. */
  readonly spent: string[]
  readonly chance: Chance
}

/** Obtains all inputs of a call, and returns the function that sends it. */
const prepare = async (world: World, member: Member, draft: Draft, { spent, chance }: Means) => {
  const { kind, action, credential, giver } = draft
  const path = `sys/replication/${kind}/${action}`
  const token = giver && (await activationToken(world, giver, kind, chance))
  const body = giver ? { token: token ?? UNKNOWN_TOKEN } : draft.body
  const client = { good: member.rootToken, bad: UNKNOWN_TOKEN, none: '' }[credential]
  const operation = isOperation(kind, action)
    ? await operationToken(world, member, credential, { spent, chance })
    : undefined
  return async () => {
    const call = { method: 'PUT', path, body: { ...body, dr_operation_token: operation ?? '' } } as const
    const answer = await world.call(member, { ...call, token: operation === undefined ? client : '' })
    if (answer?.status !== 200 || action !== 'secondary/enable' || !giver) return
    member.unsealKey = giver.unsealKey
    if (kind === 'dr') member.rootToken = giver.rootToken
  }
}

const activationToken = async (
  world: World,
  giver: Member,
  kind: Kind,
  chance: Chance,
): Promise<string | undefined> => {
  const body = { id: `walk-${chance.below(1_000_000)}` }
  const answer = await world.call(giver, {
    method: 'PUT',
    path: `sys/replication/${kind}/primary/secondary-token`,
    body,
  })
  return (answer?.json.wrap_info as { readonly token: string } | null | undefined)?.token
}

/** Returns a new operation token or, sometimes, a used one. */
const operationToken = async (
  world: World,
  member: Member,
  credential: Draft['credential'],
  { spent, chance }: Means,
): Promise<string> => {
  if (credential === 'none') return ''
  if (credential === 'bad') return chance.pick([UNKNOWN_TOKEN, ...spent])
  const made = await generate(world, member)
  if (made === undefined) return UNKNOWN_TOKEN
  spent.push(made)
  return made
}

/**
 * Generates an operation token with the key share of this cluster; undefined on a cluster that is not a DR secondary.
 */
const generate = async (world: World, member: Member): Promise<string | undefined> => {
  const path = 'sys/replication/dr/secondary/generate-operation-token/attempt'
  const known = world.roles.of(member.cluster)
  known.operationTokenBegun()
  for (const key of new Set([member.unsealKey, ...world.members.map(({ unsealKey }) => unsealKey)])) {
    let isRefused = false
    const made = await generateOperationToken(
      async (to, body = {}) => {
        const answer = await world.call(member, { method: 'PUT', path: to, body, token: '' })
        isRefused = !answer || answer.status >= 300
        return isRefused ? {} : { ...answer?.json }
      },
      [key],
    )
    if (made !== undefined && !isRefused) {
      known.operationTokenMade(made)
      return made
    }
    await world.call(member, { method: 'DELETE', path, token: '' })
  }
  return undefined
}

/** Waits until the cluster is open and its tokens are known to be valid or invalid. */
const settle = async (world: World, member: Member): Promise<void> => {
  await world.open(member)
  const known = world.roles.of(member.cluster)
  if (member.cluster.hasNodes) await rest(world, member)
  known.settle()
  const endMs = world.clock.monotonic() + PATIENCE_MS
  for (;;) {
    const { mode } = await world.status(member, 'dr')
    await world.status(member, 'performance')
    known.areTokensSure = mode === 'secondary' || mode === 'bootstrapping' || (await hasToken(world, member))
    if (known.areTokensSure || world.clock.monotonic() > endMs) return
    await world.clock.sleep(1_000)
  }
}

/**
 * Waits until no node still executes an earlier call, whatever its caller was told, and all nodes have applied the same
 * entries.
 */
const rest = async (world: World, { cluster, name }: Member): Promise<void> => {
  await world.clock.sleep(ARRIVED_MS)
  await world.until(`the nodes of ${name} are to be level and to rest`, async () => {
    const servers = cluster.nodes.flatMap(({ server }) => server ?? [])
    const [first, ...others] = servers.map(({ host }) => host.runtime?.appliedIndex)
    if (first === undefined || others.some((applied) => applied !== first)) return `${first} and ${others.join(', ')}`
    const paths = servers.flatMap((server) => [...server.inFlight().values()].map(({ path }) => path))
    return paths.find((path) => path.startsWith('sys/replication/'))
  })
}

/** Finds a token that is valid on this cluster, from any cluster, or creates a new one. */
const hasToken = async (world: World, member: Member): Promise<boolean> => {
  for (const token of new Set([member.rootToken, ...world.members.map(({ rootToken }) => rootToken)])) {
    const answer = await world.call(member, { method: 'GET', path: 'auth/token/lookup-self', token })
    if (answer?.status !== 200) continue
    member.rootToken = token
    return true
  }
  const answer = await world.call(member, { method: 'PUT', path: 'auth/approle/login', body: world.admin, token: '' })
  if (answer?.status !== 200) return false
  member.rootToken = String((answer.json.auth as { readonly client_token: string }).client_token)
  return true
}
