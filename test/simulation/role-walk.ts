import type { Kind } from '../../src/lab/model/kinds.js'
import { generateOperationToken } from '../../src/lab/requests/replication.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { judgeCaches } from './caches.js'
import { judgeCopies, judgeStorage } from './judges.js'
import { hasNoPrimary, judgeSecrets, secretsOf } from './stored-secrets.js'
import { drawCallFault } from './call-faults.js'
import { answersOf, isOperation, ROLE_ACTIONS, type RoleAction, type RoleCall, UNKNOWN_TOKEN } from './role-model.js'
import type { Servers } from './servers.js'
import type { Member, World } from './world.js'

/** The fraction of seeds that end with a role walk. */
const FRACTION = 0.5
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
  if (!chance.happens(FRACTION)) return
  // Drawn from a separate stream, so that clusters without nodes are not affected.
  const ofNodes = new Chance(`${world.plan.seed} roles of nodes`)
  const usedTokens: string[] = []
  const steps = STEPS_MIN + chance.below(STEPS_MAX - STEPS_MIN)
  for (let step = 0; step < steps; step++) {
    const member = chance.pick(world.members)
    await settle(world, member)
    const draft = draw(world, member, chance)
    const isSentTwice = chance.happens(0.15)
    const crashMs = chance.happens(0.15) ? chance.next() * CALL_MS_MAX : undefined
    const callFault =
      member.cluster.hasNodes && ofNodes.happens(0.5) ? drawCallFault(world, member, ofNodes) : undefined
    const keepsSecrets = draft.action !== 'secondary/enable' && hasNoPrimary(world, member)
    const secrets = keepsSecrets ? await secretsOf(member) : undefined
    await world.act(`role ${draft.kind} ${draft.action}`, async () => {
      const known = world.roles.of(member.cluster)
      const send = await prepare(world, member, draft, { usedTokens, chance })
      known.isUndisturbed = crashMs === undefined && callFault === undefined
      await Promise.all([
        send(),
        ...(isSentTwice ? [send()] : []),
        ...(crashMs === undefined ? [] : [world.clock.sleep(crashMs).then(() => member.cluster.crash(true))]),
        ...(callFault ? [callFault()] : []),
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
const SECOND_SET_FRACTION = 0.2

/** Gives a valid activation token of a performance primary to a DR primary, which must reject it. */
export const runSecondSet = async (world: World, { primary, secondary }: Servers): Promise<void> => {
  const chance = new Chance(`${world.plan.seed} second set`)
  if (!secondary || !chance.happens(SECOND_SET_FRACTION)) return
  for (const step of TO_SECOND_SET) {
    await settle(world, secondary)
    const issuer = step.action === 'secondary/enable' ? primary : undefined
    const draft: Draft = { ...step, credential: 'good', body: {}, issuer }
    await world.act(`second set ${step.kind} ${step.action}`, async () => {
      const send = await prepare(world, secondary, draft, { usedTokens: [], chance })
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
  readonly issuer: Member | undefined
}

/** Draws a role change. Most of them are changes that the cluster may grant. */
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
  const issuer = chance.pick(world.members.filter((other) => other !== member))
  const what = chance.weighed({ token: 6, blank: 2, unknown: 1 })
  const id = chance.pick(IDS)
  const force = chance.happens(0.5)
  if (action === 'secondary/promote') return { kind, action, body: { force }, issuer: undefined }
  if (action === 'primary/secondary-token' || action === 'primary/revoke-secondary')
    return { kind, action, body: { id }, issuer: undefined }
  if (action !== 'secondary/enable' && action !== 'secondary/update-primary')
    return { kind, action, body: {}, issuer: undefined }
  if (what === 'token') return { kind, action, body: {}, issuer }
  const token = what === 'blank' && action === 'secondary/update-primary' ? '' : UNKNOWN_TOKEN
  return { kind, action, body: { token }, issuer: undefined }
}

interface ActionContext {
  /** Operation tokens that were used before. */
  readonly usedTokens: string[]
  readonly chance: Chance
}

/** Obtains all inputs of a call, and returns the function that sends it. */
const prepare = async (world: World, member: Member, draft: Draft, { usedTokens, chance }: ActionContext) => {
  const { kind, action, credential, issuer } = draft
  const path = `sys/replication/${kind}/${action}`
  const token = issuer && (await activationToken(world, issuer, kind, chance))
  const body = issuer ? { token: token ?? UNKNOWN_TOKEN } : draft.body
  const client = { good: member.rootToken, bad: UNKNOWN_TOKEN, none: '' }[credential]
  const operation = isOperation(kind, action)
    ? await operationToken(world, member, credential, { usedTokens, chance })
    : undefined
  return async () => {
    const call = { method: 'PUT', path, body: { ...body, dr_operation_token: operation ?? '' } } as const
    const answer = await world.call(member, { ...call, token: operation === undefined ? client : '' })
    if (answer?.status !== 200 || action !== 'secondary/enable' || !issuer) return
    member.unsealKey = issuer.unsealKey
    if (kind === 'dr') member.rootToken = issuer.rootToken
  }
}

const activationToken = async (
  world: World,
  issuer: Member,
  kind: Kind,
  chance: Chance,
): Promise<string | undefined> => {
  const body = { id: `walk-${chance.below(1_000_000)}` }
  const answer = await world.call(issuer, {
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
  { usedTokens, chance }: ActionContext,
): Promise<string> => {
  if (credential === 'none') return ''
  if (credential === 'bad') return chance.pick([UNKNOWN_TOKEN, ...usedTokens])
  const made = await generate(world, member)
  if (made === undefined) return UNKNOWN_TOKEN
  usedTokens.push(made)
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
  if (member.cluster.hasNodes) await untilIdle(world, member)
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
 * Waits until no node still executes an earlier call, whatever response its caller got, and all nodes have applied the
 * same entries.
 */
const untilIdle = async (world: World, { cluster, name }: Member): Promise<void> => {
  await world.clock.sleep(ARRIVED_MS)
  await world.until(`the nodes of ${name} are to be equal and idle`, async () => {
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
