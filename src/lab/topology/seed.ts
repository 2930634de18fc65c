import type { ApiClient } from '../../client/api-client.js'
import type { MountSeed, Seed } from '../model/topology.js'

/** Writes the seed data of a cluster. Fails if any of it exists, except data received from its primary. */
export const seedCluster = async (client: ApiClient, seed: Seed): Promise<void> => {
  const { mounts = {}, policies = {}, approle = {}, secrets = {} } = seed
  for (const [path, mount] of Object.entries(mounts)) {
    const { type = 'kv', version = 2, local = false, description = '' } = mount ?? {}
    const options = type === 'kv' ? { options: { version: String(version) } } : {}
    await client.write(`sys/mounts/${trim(path)}`, { type, local, description, ...options })
  }
  for (const [name, policy] of Object.entries(policies)) await client.write(`sys/policies/acl/${name}`, { policy })
  if (Object.keys(approle).length > 0) await seedRoles(client, approle)
  if (Object.keys(secrets).length > 0) await seedSecrets(client, mounts, secrets)
}

const seedRoles = async (client: ApiClient, roles: NonNullable<Seed['approle']>): Promise<void> => {
  const enabled = (await client.read('sys/auth')).data as Record<string, unknown> | undefined
  if (enabled?.['approle/'] === undefined) await client.write('sys/auth/approle', { type: 'approle' })
  for (const [name, fields] of Object.entries(roles)) {
    const { role_id: roleId, ...rest } = fields ?? {}
    await client.write(`auth/approle/role/${name}`, rest)
    if (roleId !== undefined) await client.write(`auth/approle/role/${name}/role-id`, { role_id: roleId })
  }
}

const seedSecrets = async (
  client: ApiClient,
  seeded: Readonly<Record<string, MountSeed | null>>,
  secrets: NonNullable<Seed['secrets']>,
): Promise<void> => {
  const there = ((await client.read('sys/mounts')).data ?? {}) as Record<
    string,
    { options?: { version?: string } | null }
  >
  const paths = [...Object.keys(seeded).map((path) => `${trim(path)}/`), ...Object.keys(there)]
  for (const [path, fields] of Object.entries(secrets)) {
    // The longest matching mount wins, as in the server.
    const mount = paths.filter((one) => path.startsWith(one)).sort((one, other) => other.length - one.length)[0] ?? ''
    const isVersioned = there[mount]?.options?.version === '2'
    if (isVersioned) await client.write(`${mount}data/${path.slice(mount.length)}`, { data: fields })
    else await client.write(path, fields)
  }
}

const trim = (path: string): string => path.replace(/\/+$/, '')
