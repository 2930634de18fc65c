import { Chance } from '../../src/server/simulated/chance.js'
import { judgeCopies } from './judges.js'
import type { Link } from './servers.js'
import type { Member, World } from './world.js'

/** Initializes each cluster with one key share, and unseals it. */
export const initializeAll = async (world: World): Promise<void> => {
  for (const member of world.members) {
    if (!(await member.cluster.start())) world.fail(`${member.name} does not start`)
    const body = { secret_shares: 1, secret_threshold: 1 }
    const { json } = await world.demand(member, { method: 'PUT', path: 'sys/init', body })
    member.rootToken = String(json.root_token)
    member.unsealKey = String((json.keys as string[])[0])
    if (member.cluster.hasNodes) await world.open(member)
    else await world.demand(member, { method: 'PUT', path: 'sys/unseal', body: { key: member.unsealKey } })
  }
}

const KV_MOUNTS = { one: '1', two: '2', hidden: '1' } as const

const ALLOW_ALL = 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }'

/** Creates the mounts and users of the clients on the first cluster, before others follow it. */
export const createMounts = async (world: World, member: Member): Promise<void> => {
  const put = (path: string, body: Record<string, unknown>) => world.demand(member, { method: 'PUT', path, body })
  for (const [name, version] of Object.entries(KV_MOUNTS))
    await put(`sys/mounts/${name}`, { type: 'kv', options: { version } })
  await put('sys/namespaces/team', {})
  await put('team/sys/mounts/kv', { type: 'kv', options: { version: '1' } })
  await put('sys/auth/approle', { type: 'approle' })
  await put('sys/policies/acl/all', { policy: ALLOW_ALL })
  await put('auth/approle/role/admin', { token_policies: ['all'] })
  const read = await world.demand(member, { method: 'GET', path: 'auth/approle/role/admin/role-id' })
  const made = await put('auth/approle/role/admin/secret-id', {})
  world.admin = { role_id: dataOf(read.json).role_id, secret_id: dataOf(made.json).secret_id }
}

/**
 * Logs in to a cluster with full permissions, if no valid token is known. Its other nodes may have to be unsealed
 * again.
 */
const logIn = (world: World, member: Member): Promise<void> =>
  world.until(`${member.name} is to accept a login`, async () => {
    if (member.cluster.hasNodes) await world.startAndUnseal(member)
    const answer = await world.call(member, { method: 'PUT', path: 'auth/approle/login', body: world.admin })
    if (answer?.status !== 200) return `the answer is ${answer?.status}`
    member.rootToken = String((answer.json.auth as { client_token: string }).client_token)
    return undefined
  })

const dataOf = (json: Readonly<Record<string, unknown>>) => json.data as Readonly<Record<string, string>>

/** Makes each cluster a secondary of its primary, and waits until it has applied everything. */
export const joinAll = async (world: World, links: readonly Link[]): Promise<void> => {
  for (const [at, link] of links.entries()) {
    const isPrimary = links.slice(0, at).some(({ kind, above }) => kind === link.kind && above === link.above)
    if (!isPrimary)
      await world.demand(link.above, { method: 'PUT', path: `sys/replication/${link.kind}/primary/enable` })
    await join(world, link)
  }
}

const join = async (world: World, { kind, above, below }: Link): Promise<void> => {
  const base = `sys/replication/${kind}`
  const tokenBefore = below.rootToken
  await world.until(`${above.name} is to be a primary`, async () => {
    const { mode } = await world.status(above, kind)
    return mode === 'primary' ? undefined : `it is ${mode}`
  })
  if (new Chance(`${world.plan.seed} vain`).happens(0.5)) await joinWithRevokedToken(world, { kind, above, below })
  const body = { id: below.name.toLowerCase() }
  const token = await activationToken(world, { kind, above, below }, body.id)
  await world.demand(below, { method: 'PUT', path: `${base}/secondary/enable`, body: { token } })
  below.unsealKey = above.unsealKey
  await world.until(`${below.name} is to follow ${above.name}`, async () => {
    // The other nodes were sealed with their previous data.
    if (below.cluster.hasNodes) await world.startAndUnseal(below)
    const { mode, state } = await world.status(below, kind)
    return mode === 'secondary' && state === 'stream-wals' ? undefined : `it is ${mode}, ${state}`
  })
  if (below.cluster.hasNodes) {
    // Each of its nodes loads the new data by itself, and is sealed then.
    await judgeCopies(world, below)
    await world.open(below)
  }
  if (kind === 'dr') below.rootToken = above.rootToken
  else await logIn(world, below)
  const { status } = (await world.call(below, { ...LOOK_UP, token: tokenBefore })) ?? {}
  if (status === 200) world.fail(`${below.name} was wiped, and accepts an earlier token`)
}

export const LOOK_UP = { method: 'GET', path: 'auth/token/lookup-self' } as const

const activationToken = async (world: World, { kind, above }: Link, id: string): Promise<string> => {
  const path = `sys/replication/${kind}/primary/secondary-token`
  const { json } = await world.demand(above, { method: 'PUT', path, body: { id } })
  return (json.wrap_info as { token: string }).token
}

/** Tries to join with a revoked token, which must be rejected and must change nothing. */
const joinWithRevokedToken = async (world: World, link: Link): Promise<void> => {
  const { kind, above, below } = link
  const token = await activationToken(world, link, 'vain')
  const revoke = `sys/replication/${kind}/primary/revoke-secondary`
  await world.demand(above, { method: 'PUT', path: revoke, body: { id: 'vain' } })
  const enable = `sys/replication/${kind}/secondary/enable`
  const answer = await world.call(below, { method: 'PUT', path: enable, body: { token } })
  if (answer && answer.status < 300) world.fail(`${below.name} joins with a revoked token`)
  await world.demand(below, { ...LOOK_UP })
}
