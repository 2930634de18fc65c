import type { Answer } from '../../src/server/simulated/calls.js'
import { SKEW_MS_MAX } from './faults.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { LOOK_UP } from './set-up.js'
import type { Servers } from './servers.js'
import type { Member, World } from './world.js'

/** The known facts about tokens and SecretIDs, which must stay true. */
export class Credentials {
  /** Credentials whose revocation was acknowledged. */
  readonly revoked: Issued[] = []
  readonly valid: Issued[] = []
  /** Tokens whose TTL ends before the end of the run. */
  readonly expiring: Issued[] = []
}

/** An issued credential. A promoted copy has the tokens of the primary; tokens of the other secondary are its own. */
interface Issued {
  readonly isOfSecondary: boolean
  readonly token: string
  /** A later failover may have lost the outcome of a request; the losses are judged elsewhere. */
  readonly term: number
}

const issuerOf = ({ primary, secondary }: Servers, { isOfSecondary }: Issued): Member =>
  isOfSecondary && secondary ? secondary : primary

/** Returns true if the known facts about a credential still hold. */
const isSure = (servers: Servers, issued: Issued): boolean => issued.isOfSecondary || issued.term === servers.term

/** Number of concurrent attempts to use a credential with fewer remaining uses. */
const TRIES = 5
const PAUSE_TIMES = 4
/** Maximum TTL of a token. Clocks are corrected before the end, so all of these tokens have expired by then. */
const TTL_SECONDS_MAX = 10

const isSuccess = (answer: Answer | undefined): boolean => answer !== undefined && answer.status < 300
/** Returns undefined if the response contains no token. */
const tokenOf = (answer: Answer | undefined): string | undefined =>
  answer && isSuccess(answer) ? (answer.json.auth as { readonly client_token: string }).client_token : undefined

/** Creates, uses up and revokes tokens and SecretIDs until the time is over. */
export const runCredentials = async (
  world: World,
  credentials: Credentials,
  { endMs, servers }: { endMs: number; servers: Servers },
): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} credentials`)
  while (clock.monotonic() < endMs) {
    await clock.sleep(chance.next() * plan.clientPauseMsMax * PAUSE_TIMES)
    const what = chance.weighed({
      useSecretId: 2,
      useToken: 2,
      create: 1,
      revoke: 2,
      tryRevoked: 2,
      issueShortLived: 1,
      removeCapability: 1,
      revokeFamily: 1,
    })
    const member = chance.pick(servers.serving)
    await world.act(`credentials ${what}`, () => {
      if (what === 'useSecretId') return useSecretId(world, chance, servers)
      if (what === 'useToken') return useToken(world, servers, member, 1 + chance.below(3))
      if (what === 'create') return create(world, credentials, servers, member)
      if (what === 'revokeFamily') return revokeFamily(world, servers, member)
      if (what === 'removeCapability') return removeCapability(world, chance, servers)
      if (what === 'issueShortLived')
        return issueShortLived(world, credentials, servers, member, 1 + chance.below(TTL_SECONDS_MAX))
      return what === 'revoke'
        ? revoke(world, credentials, servers)
        : judgeRevoked(world, credentials.revoked.slice(-3), servers)
    })
  }
}

/** Checks that uses beyond the limit are rejected, for concurrent attempts on all clusters. */
const useSecretId = async (world: World, chance: Chance, servers: Servers): Promise<void> => {
  const uses = 1 + chance.below(3)
  const path = 'auth/approle/role/admin/secret-id'
  const made = await world.call(servers.primary, { method: 'PUT', path, body: { num_uses: uses } })
  if (!made || !isSuccess(made)) return
  const { secret_id } = made.json.data as { secret_id: string }
  const body = { role_id: world.admin.role_id, secret_id }
  await useUp(world, servers, uses, 'a SecretID', () =>
    world.call(chance.pick(servers.serving), { method: 'PUT', path: 'auth/approle/login', body, token: '' }),
  )
}

const useToken = async (world: World, servers: Servers, member: Member, uses: number): Promise<void> => {
  const body = { num_uses: uses, policies: ['all'] }
  const made = await world.call(member, { method: 'PUT', path: 'auth/token/create', body })
  const token = tokenOf(made)
  if (token === undefined) return
  await useUp(world, servers, uses, 'a token', () => world.call(member, { ...LOOK_UP, token }))
}

const useUp = async (
  world: World,
  servers: Servers,
  uses: number,
  what: string,
  attempt: () => Promise<Answer | undefined>,
): Promise<void> => {
  const { term, isSettled } = servers
  const answers = await Promise.all(Array.from({ length: TRIES }, attempt))
  answers.push(await attempt())
  const good = answers.filter(isSuccess).length
  // A failover that lost uses has restored them. During a failover, two clusters may count.
  if (good > uses && isSettled && term === servers.term)
    world.fail(`${what} of ${uses} uses was accepted ${good} times`)
}

const create = async (world: World, { valid }: Credentials, servers: Servers, member: Member): Promise<void> => {
  const { term } = servers
  const made = await world.call(member, { method: 'PUT', path: 'auth/token/create', body: { policies: ['all'] } })
  const token = tokenOf(made)
  // A former primary serves late requests while its replication is disabled, before it is wiped.
  if (token !== undefined && servers.serving.includes(member))
    valid.push({ isOfSecondary: member === servers.secondary, token, term: termOf(servers, term) })
}

/** Creates a token with a TTL. Half of these tokens are renewed, which sets the TTL again from that moment. */
const issueShortLived = async (
  world: World,
  { expiring }: Credentials,
  servers: Servers,
  member: Member,
  ttlSeconds: number,
): Promise<void> => {
  const { term } = servers
  const body = { policies: ['all'], ttl: `${ttlSeconds}s`, explicit_max_ttl: `${2 * ttlSeconds}s` }
  const token = tokenOf(await world.call(member, { method: 'PUT', path: 'auth/token/create', body }))
  if (token === undefined) return
  expiring.push({ isOfSecondary: member === servers.secondary, token, term })
  if (ttlSeconds % 2 === 0) await world.call(member, { method: 'PUT', path: 'auth/token/renew-self', token })
}

/** A token, its child and its grandchild must end together: if one of them is invalid, the first one is invalid too. */
const revokeFamily = async (world: World, servers: Servers, member: Member): Promise<void> => {
  const { term } = servers
  const create = async (token: string | undefined) =>
    tokenOf(
      await world.call(member, {
        method: 'PUT',
        path: 'auth/token/create',
        body: { policies: ['all'] },
        ...(token === undefined ? {} : { token }),
      }),
    )
  const oldest = await create(undefined)
  const child = oldest && (await create(oldest))
  const youngest = child && (await create(child))
  if (!youngest) return
  const isDead = async (token: string) => (await world.call(member, { ...LOOK_UP, token }))?.status === 403
  const body = { token: oldest }
  const revoked = world.call(member, { method: 'PUT', path: 'auth/token/revoke', body })
  for (let tries = 0; tries < TRIES * TRIES; tries++) {
    const descendant = tries % 2 === 0 ? youngest : child
    if (!(await isDead(descendant))) continue
    const isAlive = isSuccess(await world.call(member, { ...LOOK_UP, token: oldest }))
    if (isAlive && term === servers.term && servers.isSettled)
      world.fail(`${member.name} revoked the children of a token before the token`)
    break
  }
  await revoked
}

const REDUCED_POLICY = 'curbed'
const policyOf = (capabilities: string) => `path "one/*" { capabilities = [${capabilities}] }`

/**
 * A policy that loses a capability must deny it to every token that used it before, once the policy is stored. In the
 * simulation, a disk may show a batch shortly before its server is notified. A wrong grant must therefore last longer
 * than that to count.
 */
const removeCapability = async (world: World, chance: Chance, servers: Servers): Promise<void> => {
  const path = `sys/policies/acl/${REDUCED_POLICY}`
  const setPolicy = (capabilities: string) =>
    world.call(servers.primary, { method: 'PUT', path, body: { policy: policyOf(capabilities) } })
  const member = chance.pick(servers.serving)
  const { term } = servers
  if (!isSuccess(await setPolicy('"read", "list"'))) return
  const made = await world.call(member, {
    method: 'PUT',
    path: 'auth/token/create',
    body: { policies: [REDUCED_POLICY] },
  })
  const token = tokenOf(made)
  if (token === undefined) return
  const isGranted = async () => isSuccess(await world.call(member, { method: 'LIST', path: 'one/', token }))
  if (!(await isGranted())) return
  if (!isSuccess(await setPolicy('"read"'))) return
  const shown = await world.call(member, { method: 'GET', path })
  const { policy } = (shown?.json.data ?? {}) as { readonly policy?: string }
  if (shown?.status !== 200 || policy !== policyOf('"read"') || !servers.isSettled) return
  for (let checks = 0; await isGranted(); checks++) {
    if (term !== servers.term || !servers.isSettled) return
    if (checks === CHECKS_MAX) world.fail(`${member.name} grants a capability that the policy no longer contains`)
    await world.clock.sleep(NOTIFIED_MS)
  }
}

/**
 * Longer than a server needs until it is notified of its own write. A suspended server needs longer, so there are two
 * checks.
 */
const NOTIFIED_MS = 1_000
const CHECKS_MAX = 2

/** Revokes a token. Whether it is revoked is known only when the response arrives; until then, both are possible. */
const revoke = async (world: World, { valid, revoked }: Credentials, servers: Servers): Promise<void> => {
  const next = valid.shift()
  if (!next) return
  const { term } = servers
  const answer = await world.call(issuerOf(servers, next), {
    method: 'PUT',
    path: 'auth/token/revoke',
    body: { token: next.token },
  })
  if (isSuccess(answer)) revoked.push({ ...next, term: termOf(servers, term) })
}

/**
 * Returns the term of a response. Returns a value that is never current while a failover is in progress that may lose
 * the response.
 */
const termOf = (servers: Servers, before: number): number =>
  servers.isSettled && before === servers.term ? before : UNKNOWN_TERM

const UNKNOWN_TERM = -1

const judgeRevoked = async (world: World, revoked: readonly Issued[], servers: Servers): Promise<void> => {
  for (const issued of revoked) {
    const member = issuerOf(servers, issued)
    if (isSuccess(await world.call(member, { ...LOOK_UP, token: issued.token })) && isSure(servers, issued))
      world.fail(`${member.name} accepts a revoked token`)
  }
}

/** Checks that these tokens have expired, even if a failover has restored them. */
const judgeExpired = async (world: World, expiring: readonly Issued[], servers: Servers): Promise<void> => {
  for (const issued of expiring) {
    const member = issuerOf(servers, issued)
    if (isSuccess(await world.call(member, { ...LOOK_UP, token: issued.token })))
      world.fail(`${member.name} accepts an expired token`)
  }
}

/** Checks at the end, when all servers run, that revoked credentials are invalid and all others are valid. */
export const judgeCredentials = async (
  world: World,
  { revoked, valid, expiring }: Credentials,
  servers: Servers,
): Promise<void> => {
  await judgeRevoked(world, revoked, servers)
  await world.clock.sleep(2 * TTL_SECONDS_MAX * 1000 + SKEW_MS_MAX)
  await judgeExpired(world, expiring, servers)
  for (const issued of valid.filter((one) => isSure(servers, one))) {
    const member = issuerOf(servers, issued)
    const answer = await world.call(member, { ...LOOK_UP, token: issued.token })
    if (!isSuccess(answer)) world.fail(`${member.name} has lost a token: ${answer?.status}`)
  }
}
