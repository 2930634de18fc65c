import type { Cluster } from './clusters.js'
import type { Answer, Drill } from './drill.js'

/** Steps of a drill on the AppRole mount `approle/`. */
export interface SecretId {
  readonly secret_id: string
  readonly secret_id_accessor: string
}

/** What a login says to an id that does not fit. */
export const INVALID = 'invalid role or secret ID'

export const roleId = async (on: Drill, cluster: Cluster, role: string): Promise<string> =>
  String((await on.ok(cluster, 'GET', `auth/approle/role/${role}/role-id`)).data.role_id)

export const secretId = async (on: Drill, cluster: Cluster, role: string): Promise<SecretId> =>
  (await on.ok(cluster, 'POST', `auth/approle/role/${role}/secret-id`, {})).data as unknown as SecretId

export const login = (on: Drill, cluster: Cluster, id: string, { secret_id }: SecretId): Promise<Answer> =>
  on.call(cluster, 'POST', 'auth/approle/login', { role_id: id, secret_id }, { isAnonymous: true })

/** The token of a login that succeeded. */
export const tokenOf = ({ body }: Answer): string => String((body.auth as { client_token: string }).client_token)

export const usesLeft = async (on: Drill, cluster: Cluster, role: string, { secret_id }: SecretId): Promise<unknown> =>
  (await on.call(cluster, 'POST', `auth/approle/role/${role}/secret-id/lookup`, { secret_id })).data.secret_id_num_uses
