import { textOfJson } from '../../../base/json-print.js'
import type { ApiClient } from '../../../client/api-client.js'
import { LabError } from '../../model/lab-error.js'
import type { LiveLab } from '../../live/live-lab.js'
import { statusOf } from '../../requests/replication.js'
import type { DrillContext } from '../context/drill-context.js'

/** The mount, policy and AppRole of the load clients. They do not touch other data of the lab. */

export const MOUNT = 'drill-load'
const AUTH = `auth/${MOUNT}`
const POLICY = `path "${MOUNT}/*" { capabilities = ["create", "read", "update"] }`
const TOKEN_TTL = '24h'

export interface Accounts {
  readonly roleId: string
  readonly secretId: string
  /** Initial clusters of the clients: those that accepted a login and a write. */
  readonly homes: readonly string[]
}

/** Maximum time for the mount to replicate to a cluster. */
const ARRIVAL_MS = 10_000

/**
 * Creates the accounts on the primary, and waits until clients can use them on each initial cluster. Without `wanted`, these are
 * all writable clusters except those on which the accounts do not arrive, for example because of a paths filter.
 */
export const makeAccounts = async (context: DrillContext, wanted: readonly string[] | undefined): Promise<Accounts> => {
  const { lab } = context
  const active = await findActive(lab)
  const primary = await findPrimary(lab, active)
  const root = await lab.root(primary)
  await ensure(root, `sys/mounts/${MOUNT}`, { type: 'kv', options: { version: '1' } })
  await ensure(root, `sys/auth/${MOUNT}`, { type: 'approle' })
  await root.write(`sys/policies/acl/${MOUNT}`, { policy: POLICY })
  const role = `${AUTH}/role/client`
  await root.write(role, { token_policies: MOUNT, token_ttl: TOKEN_TTL, token_max_ttl: TOKEN_TTL })
  const roleId = textOf((await root.read(`${role}/role-id`)).data, 'role_id')
  const secretId = textOf((await root.write(`${role}/secret-id`)).data, 'secret_id')
  const homes: string[] = []
  for (const name of wanted ?? active) {
    const arrived = await context
      .wait(`clients to be served on ${name}`, () => findObstacle(lab, name, roleId, secretId), ARRIVAL_MS)
      .then(
        () => true,
        (error: unknown) => {
          if (wanted || !(error instanceof LabError && error.code === 'timeout')) throw error
          return false
        },
      )
    if (arrived) homes.push(name)
  }
  if (homes.length === 0) throw new LabError('remote', 'no cluster of the lab accepts the writes of clients')
  return { roleId, secretId, homes }
}

export const login = async (
  client: ApiClient,
  { roleId, secretId }: Pick<Accounts, 'roleId' | 'secretId'>,
): Promise<string> => {
  const answer = await client.write(`${AUTH}/login`, { role_id: roleId, secret_id: secretId })
  return textOf(answer.auth, 'client_token')
}

/** Returns the clusters that serve clients now. */
export const findActive = async (lab: LiveLab): Promise<string[]> => {
  await lab.followActiveNodes()
  const names = lab.clusters.map(({ name }) => name)
  const healths = await Promise.all(
    names.map((name) =>
      lab
        .anonymous(name)
        .send('GET', 'sys/health')
        .then(
          ({ status }) => status,
          () => 0,
        ),
    ),
  )
  return names.filter((_, index) => healths[index] === 200)
}

/** Returns the active cluster that does not forward its writes. If there are several, prefers `preferred`. */
export const findPrimary = async (lab: LiveLab, active: readonly string[], preferred?: string): Promise<string> => {
  const modes = await Promise.all(
    active.map((name) =>
      statusOf(lab.anonymous(name), 'performance').then(
        ({ mode }) => mode,
        () => 'unknown',
      ),
    ),
  )
  const primaries = active.filter((_, index) => modes[index] !== 'secondary' && modes[index] !== 'unknown')
  const found = primaries.find((name) => name === preferred) ?? primaries[0]
  if (found === undefined) throw new LabError('remote', 'no cluster of the lab is a primary that serves clients')
  return found
}

const findObstacle = async (
  lab: LiveLab,
  name: string,
  roleId: string,
  secretId: string,
): Promise<string | undefined> => {
  const token = await login(lab.anonymous(name), { roleId, secretId })
  const client = lab.withToken(name, token)
  try {
    await client.write(`${MOUNT}/arrival-${name}`, { name })
    return undefined
  } finally {
    client.close()
  }
}

/** Accepts an existing mount: an earlier drill on the same lab may have created it. */
const ensure = async (root: ApiClient, path: string, body: object): Promise<void> => {
  const [, table = '', name = ''] = path.split('/')
  const there = await root.read(`sys/${table}`)
  if (there[`${name}/`] === undefined) await root.write(path, body)
}

const textOf = (value: unknown, key: string): string =>
  textOfJson((value as Record<string, unknown> | null | undefined)?.[key] ?? '')
