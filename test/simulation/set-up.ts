import type { Kind } from '../../src/lab/kinds.js'
import type { Member, World } from './world.js'

/** New clusters, each initialised with one share, open, and with the mounts that clients write to. */
export const initialiseAll = async (world: World): Promise<void> => {
  for (const member of world.members) {
    if (!(await member.cluster.start())) world.fail(`${member.name} does not start`)
    const body = { secret_shares: 1, secret_threshold: 1 }
    const { json } = await world.demand(member, { method: 'PUT', path: 'sys/init', body })
    member.rootToken = String(json.root_token)
    member.unsealKey = String((json.keys as string[])[0])
    await world.demand(member, { method: 'PUT', path: 'sys/unseal', body: { key: member.unsealKey } })
  }
}

export const mountKv = async (world: World, member: Member): Promise<void> => {
  for (const [name, version] of [
    ['one', '1'],
    ['two', '2'],
  ] as const)
    await world.demand(member, {
      method: 'PUT',
      path: `sys/mounts/${name}`,
      body: { type: 'kv', options: { version } },
    })
}

/** Makes `below` a secondary of `above`, and waits until it has everything. */
export const join = async (world: World, kind: Kind, above: Member, below: Member): Promise<void> => {
  const base = `sys/replication/${kind}`
  if ((await world.status(above, kind)).mode !== 'primary') {
    await world.demand(above, { method: 'PUT', path: `${base}/primary/enable` })
    await world.until(`${above.name} is to be a primary`, async () => {
      const { mode } = await world.status(above, kind)
      return mode === 'primary' ? undefined : `it is ${mode}`
    })
  }
  const body = { id: below.name.toLowerCase() }
  const issued = await world.demand(above, { method: 'PUT', path: `${base}/primary/secondary-token`, body })
  const { token } = issued.json.wrap_info as { token: string }
  await world.demand(below, { method: 'PUT', path: `${base}/secondary/enable`, body: { token } })
  below.unsealKey = above.unsealKey
  if (kind === 'dr') below.rootToken = above.rootToken
  await world.until(`${below.name} is to follow ${above.name}`, async () => {
    const { mode, state } = await world.status(below, kind)
    return mode === 'secondary' && state === 'stream-wals' ? undefined : `it is ${mode}, ${state}`
  })
}
