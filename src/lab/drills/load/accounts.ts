import { textOfJson } from '../../../base/json-print.js'
import type { ApiClient } from '../../../client/api-client.js'
import { LabError } from '../../model/lab-error.js'
import type { LiveLab } from '../../live/live-lab.js'
import type { DrillContext } from '../context/drill-context.js'
import { collectOnce, type StatusSample, writableClusters } from '../context/status-samples.js'

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
  const root = await lab.root(findPrimary(active))
  await ensure(root, `sys/mounts/${MOUNT}`, { type: 'kv', options: { version: '1' } })
  await ensure(root, `sys/auth/${MOUNT}`, { type: 'approle' })
  await root.write(`sys/policies/acl/${MOUNT}`, { policy: POLICY })
  const role = `${AUTH}/role/client`
  await root.write(role, { token_policies: MOUNT, token_ttl: TOKEN_TTL, token_max_ttl: TOKEN_TTL })
  const roleId = textOf((await root.read(`${role}/role-id`)).data, 'role_id')
  const secretId = textOf((await root.write(`${role}/secret-id`)).data, 'secret_id')
  const homes: string[] = []
  for (const name of wanted ?? active.map((one) => one.name)) {
    const service = () => requireService(lab, name, { roleId, secretId })
    try {
      await context.wait(`clients to be served on ${name}`, service, ARRIVAL_MS)
      homes.push(name)
    } catch (error) {
      if (wanted || !(error instanceof LabError && error.code === 'timeout')) throw error
    }
  }
  if (homes.length === 0) throw new LabError('remote', 'no cluster of the lab accepts the writes of clients')
  return { roleId, secretId, homes }
}

type Credentials = Pick<Accounts, 'roleId' | 'secretId'>

export const login = async (client: ApiClient, { roleId, secretId }: Credentials): Promise<string> => {
  const answer = await client.write(`${AUTH}/login`, { role_id: roleId, secret_id: secretId })
  return textOf(answer.auth, 'client_token')
}

/** Returns the clusters that serve clients now. */
export const findActive = async (lab: LiveLab): Promise<readonly StatusSample[]> => {
  await lab.followActiveNodes()
  return (await collectOnce(lab)).filter(({ health }) => health === 200)
}

/** Returns the active cluster that does not forward its writes. If there are several, prefers `preferred`. */
export const findPrimary = (active: readonly StatusSample[], preferred?: string): string => {
  const primaries = writableClusters(active)
  const found = primaries.find((name) => name === preferred) ?? primaries[0]
  if (found === undefined) throw new LabError('remote', 'no cluster of the lab is a primary that serves clients')
  return found
}

/** Rejects until clients can log in to a cluster and write. */
const requireService = async (lab: LiveLab, name: string, credentials: Credentials): Promise<undefined> => {
  const client = lab.withToken(name, await login(lab.anonymous(name), credentials))
  try {
    await client.write(`${MOUNT}/arrival-${name}`, { name })
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
