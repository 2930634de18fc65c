import type { Answer } from './cluster.js'
import { Chance } from './chance.js'
import type { Servers } from './clients.js'
import type { Member, World } from './world.js'

/** What is known of tokens and SecretIDs, and must stay true. */
export class Credentials {
  /** Revoked, and that was answered. */
  readonly dead: { readonly member: Member; readonly token: string }[] = []
  readonly live: { readonly member: Member; readonly token: string }[] = []
}

/** How many may try at once to use up what allows fewer. */
const TRIES = 5
const LOOK_UP = { method: 'GET', path: 'auth/token/lookup-self' } as const
const PAUSE_TIMES = 4

const isGood = (answer: Answer | undefined): boolean => answer !== undefined && answer.status < 300
/** Undefined where none was made. */
const tokenOf = (answer: Answer | undefined): string | undefined =>
  answer && isGood(answer) ? (answer.json.auth as { readonly client_token: string }).client_token : undefined

/** One that makes tokens and SecretIDs, uses them up, and revokes, until the time is over. */
export const runCredentials = async (
  world: World,
  credentials: Credentials,
  { endMs, servers }: { endMs: number; servers: Servers },
): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} credentials`)
  const all = servers.secondary ? [servers.primary, servers.secondary] : [servers.primary]
  while (clock.monotonic() < endMs) {
    await clock.sleep(chance.next() * plan.clientPauseMsMax * PAUSE_TIMES)
    const what = chance.weighed({ useSecretId: 2, useToken: 2, make: 1, revoke: 2, tryDead: 2 })
    const member = chance.pick(all)
    if (what === 'useSecretId') await useSecretId(world, chance, servers.primary, all)
    else if (what === 'useToken') await useToken(world, chance, member)
    else if (what === 'make') await make(world, credentials, member)
    else if (what === 'revoke') await revoke(world, credentials)
    else await tryDead(world, credentials)
  }
}

/** Uses beyond those that are allowed are refused, however many try at once, and wherever. */
const useSecretId = async (world: World, chance: Chance, primary: Member, all: readonly Member[]): Promise<void> => {
  const uses = 1 + chance.below(3)
  const path = 'auth/approle/role/admin/secret-id'
  const made = await world.call(primary, { method: 'PUT', path, body: { num_uses: uses } })
  if (!made || !isGood(made)) return
  const { secret_id } = made.json.data as { secret_id: string }
  const body = { role_id: world.admin.role_id, secret_id }
  await useUp(world, uses, 'a SecretID', () =>
    world.call(chance.pick(all), { method: 'PUT', path: 'auth/approle/login', body, token: '' }),
  )
}

const useToken = async (world: World, chance: Chance, member: Member): Promise<void> => {
  const uses = 1 + chance.below(3)
  const body = { num_uses: uses, policies: ['all'] }
  const made = await world.call(member, { method: 'PUT', path: 'auth/token/create', body })
  const token = tokenOf(made)
  if (token === undefined) return
  await useUp(world, uses, 'a token', () => world.call(member, { ...LOOK_UP, token }))
}

const useUp = async (
  world: World,
  uses: number,
  what: string,
  attempt: () => Promise<Answer | undefined>,
): Promise<void> => {
  const answers = await Promise.all(Array.from({ length: TRIES }, attempt))
  answers.push(await attempt())
  const good = answers.filter(isGood).length
  if (good > uses) world.fail(`${what} of ${uses} uses was taken ${good} times`)
}

const make = async (world: World, { live }: Credentials, member: Member): Promise<void> => {
  const made = await world.call(member, { method: 'PUT', path: 'auth/token/create', body: { policies: ['all'] } })
  const token = tokenOf(made)
  if (token !== undefined) live.push({ member, token })
}

/** Whether it was revoked is known when that is answered; until then it may be either. */
const revoke = async (world: World, { live, dead }: Credentials): Promise<void> => {
  const next = live.shift()
  if (!next) return
  const answer = await world.call(next.member, {
    method: 'PUT',
    path: 'auth/token/revoke',
    body: { token: next.token },
  })
  if (isGood(answer)) dead.push(next)
}

const tryDead = async (world: World, { dead }: Credentials): Promise<void> => {
  for (const { member, token } of dead.slice(-3))
    if (isGood(await world.call(member, { ...LOOK_UP, token }))) world.fail(`${member.name} takes a revoked token`)
}

/** In the end, when everything runs: what was revoked is dead, and what was not is good. */
export const judgeCredentials = async (world: World, { dead, live }: Credentials): Promise<void> => {
  for (const { member, token } of dead)
    if (isGood(await world.call(member, { ...LOOK_UP, token }))) world.fail(`${member.name} takes a revoked token`)
  for (const { member, token } of live) {
    const answer = await world.call(member, { ...LOOK_UP, token })
    if (!isGood(answer)) world.fail(`${member.name} has lost a token: ${answer?.status}`)
  }
}
