import type { ApiClient } from '../../src/client/api-client.js'
import { type PostgresProcess, ROOT_PASSWORD } from './postgres.js'

type Fields = Record<string, unknown>

export const dataOf = (answer: Fields): Fields => answer.data as Fields

export const CREATION = [
  `CREATE ROLE "{{name}}" WITH LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'`,
  'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{{name}}"',
]

/** The connection of the root user of a PostgreSQL server. */
export const connectionTo = (postgres: PostgresProcess): Fields => ({
  plugin_name: 'postgresql-database-plugin',
  connection_url: postgres.url,
  username: 'admin',
  password: ROOT_PASSWORD,
  allowed_roles: '*',
})

/** Mounts the engine with the connection `main` and the role `app`, whose credentials are valid for one hour. */
export const mountDatabase = async (client: ApiClient, postgres: PostgresProcess, more: Fields = {}): Promise<void> => {
  await client.write('sys/mounts/database', { type: 'database' })
  await client.write('database/config/main', { ...connectionTo(postgres), ...more })
  await createRole(client, 'app', '1h')
}

export const createRole = (client: ApiClient, name: string, ttl: string): Promise<Fields> =>
  client.write(`database/roles/${name}`, { db_name: 'main', creation_statements: CREATION, default_ttl: ttl })

interface Credentials {
  readonly username: string
  readonly password: string
  readonly lease: string
}

export const createCredentials = async (client: ApiClient, role = 'app'): Promise<Credentials> => {
  const answer = await client.read(`database/creds/${role}`)
  const { username, password } = dataOf(answer)
  return { username: String(username), password: String(password), lease: String(answer.lease_id) }
}
