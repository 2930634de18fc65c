import { Socket } from 'node:net'
import type { Pool, PoolClient } from 'pg'
import { KeyedLock } from '../../base/keyed-lock.js'
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { scramVerifier } from '../../crypto/scram.js'
import { invalid } from '../../logical/errors.js'
import type { DatabasePlugin, DatabaseUser, PluginSettings } from './plugin.js'
import { fillStatements, fillText } from './statements.js'

/**
 * The schemas with privileges of a role: on the schema, or on its tables and sequences. PostgreSQL drops only roles
 * without privileges.
 */
const SCHEMAS_OF_ROLE = `
  WITH role AS (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = $1)
  SELECT n.nspname AS name
    FROM pg_catalog.pg_namespace n, LATERAL pg_catalog.aclexplode(n.nspacl) acl, role
    WHERE acl.grantee = role.oid
  UNION
  SELECT n.nspname AS name
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,
      LATERAL pg_catalog.aclexplode(c.relacl) acl, role
    WHERE acl.grantee = role.oid`

const TURN = 'turn'

/** The number of times that a transaction is repeated. */
const CONFLICTS_MAX = 10

const RENEWAL = [`ALTER ROLE "{{name}}" VALID UNTIL '{{expiration}}'`]
const ROTATION = [`ALTER ROLE "{{name}}" WITH PASSWORD '{{password}}'`]

/** A PostgreSQL server. Loads the driver and connects at the first statement. */
export class PostgresPlugin implements DatabasePlugin {
  readonly #settings: PluginSettings
  readonly #random: Random
  #pool: Promise<Pool> | undefined
  readonly #sockets = new Set<Socket>()
  /** PostgreSQL rejects concurrent changes of the privileges of one object, so transactions run one at a time. */
  readonly #turns = new KeyedLock()
  #isAborted = false

  constructor(settings: PluginSettings, random: Random) {
    this.#settings = settings
    this.#random = random
  }

  verify(): Promise<void> {
    return this.#run(async (client) => void (await client.query('SELECT 1')))
  }

  async createUser(
    user: DatabaseUser & { readonly expiresMs: number },
    { creation, rollback }: { readonly creation: readonly string[]; readonly rollback: readonly string[] },
  ): Promise<void> {
    const values = { ...this.#valuesOf(user), expiration: printExpiration(user.expiresMs) }
    const statements = fillStatements(creation, values)
    if (statements.length === 0) throw invalid('empty creation statements')
    try {
      await this.#execute(statements)
    } catch (error) {
      if (rollback.length > 0) await this.#execute(fillStatements(rollback, values)).catch(() => undefined)
      throw error
    }
  }

  renewUser(username: string, expiresMs: number, statements: readonly string[]): Promise<void> {
    const values = { ...namesOf(username), expiration: printExpiration(expiresMs) }
    return this.#execute(fillStatements(statements, values, RENEWAL))
  }

  setPassword(user: DatabaseUser, statements: readonly string[]): Promise<void> {
    return this.#execute(fillStatements(statements, this.#valuesOf(user), ROTATION))
  }

  dropUser(username: string, statements: readonly string[]): Promise<void> {
    const own = fillStatements(statements, namesOf(username))
    if (own.length > 0) return this.#execute(own)
    return this.#run(async (client) => {
      const { rowCount } = await client.query('SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1', [username])
      if (!rowCount) return
      const role = client.escapeIdentifier(username)
      const { rows } = await client.query<{ name: string }>(SCHEMAS_OF_ROLE, [username])
      for (const { name } of rows) {
        const schema = client.escapeIdentifier(name)
        await client.query(`REVOKE ALL PRIVILEGES ON ALL TABLES IN SCHEMA ${schema} FROM ${role}`)
        await client.query(`REVOKE ALL PRIVILEGES ON ALL SEQUENCES IN SCHEMA ${schema} FROM ${role}`)
        await client.query(`REVOKE ALL PRIVILEGES ON SCHEMA ${schema} FROM ${role}`)
      }
      const found = await client.query<{ name: string }>('SELECT current_database() AS name')
      const database = client.escapeIdentifier(found.rows[0]?.name ?? '')
      await client.query(`REVOKE ALL PRIVILEGES ON DATABASE ${database} FROM ${role}`)
      await client.query(`DROP ROLE IF EXISTS ${role}`)
    })
  }

  /** Closes the connections after the transactions that wait, or aborts all transactions. */
  async close(aborts = false): Promise<void> {
    this.#isAborted ||= aborts
    if (aborts) for (const socket of this.#sockets) socket.destroy()
    await this.#turns.run(TURN, async () => {
      const pool = this.#pool
      this.#pool = undefined
      await (await pool)?.end()
    })
  }

  #execute(statements: readonly string[]): Promise<void> {
    return this.#run(async (client) => {
      for (const statement of statements) await client.query(statement).catch(rethrowOfQuery)
    })
  }

  #run(work: (client: PoolClient) => Promise<void>): Promise<void> {
    return this.#turns.run(TURN, () => this.#transactAgain(work))
  }

  /** Repeats a transaction that conflicts with one of another connection to the same database. */
  async #transactAgain(work: (client: PoolClient) => Promise<void>): Promise<void> {
    for (let conflicts = 0; ; conflicts++) {
      try {
        return await this.#transact(work)
      } catch (error) {
        if (conflicts === CONFLICTS_MAX || !isConflict(error)) throw error
      }
    }
  }

  /** Runs statements in one transaction. After an error, closes the connection, which rolls the transaction back. */
  async #transact(work: (client: PoolClient) => Promise<void>): Promise<void> {
    if (this.#isAborted) throw new Error('the connection is closed')
    this.#pool ??= this.#open()
    const client = await (await this.#pool).connect()
    let isDone = false
    try {
      await client.query('BEGIN')
      await work(client)
      await client.query('COMMIT')
      isDone = true
    } finally {
      client.release(!isDone || this.#settings.keepsNone)
    }
  }

  async #open(): Promise<Pool> {
    const { Pool: Pools } = await import('pg')
    const { url, connectionSecondsMax, onError } = this.#settings
    const pool = new Pools({
      connectionString: url,
      stream: () => this.#newSocket(),
      max: 1,
      connectionTimeoutMillis: LIMITS.databaseConnectMs,
      query_timeout: LIMITS.databaseStatementMs,
      allowExitOnIdle: true,
      application_name: 'understudy',
      ...(connectionSecondsMax > 0 && { maxLifetimeSeconds: connectionSecondsMax }),
    })
    pool.on('error', onError)
    // The statement in progress rejects too. Without a listener, the event would end the process.
    pool.on('connect', (client) => client.on('error', onError))
    return pool
  }

  #newSocket(): Socket {
    const socket = new Socket()
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    return socket
  }

  #valuesOf({ username, password }: DatabaseUser): Record<string, string> {
    const stored = this.#settings.hashesPasswords ? scramVerifier(password, this.#random.bytes(16)) : password
    return { ...namesOf(username), password: stored }
  }
}

/** Throws an error of PostgreSQL with its SQLSTATE code in the text. */
const rethrowOfQuery = (error: unknown): never => {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) throw error
  throw Object.assign(new Error(`failed to execute query: ERROR: ${message} (SQLSTATE ${code})`, { cause: error }), {
    code,
  })
}

/** Returns true for the error of concurrent changes of the privileges of one object. */
const isConflict = (error: unknown): boolean =>
  error instanceof Error && /\btuple concurrently (?:updated|deleted)\b/.test(error.message)

const namesOf = (username: string) => ({ name: username, username })

const printExpiration = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')}+0000`

/**
 * Returns the URL of a connection with the name and the password of the root user. Throws LogicalError 400 if the text
 * is not a URL of PostgreSQL.
 */
export const postgresUrl = (template: string, values: Readonly<Record<string, string>>, escapes: boolean): string => {
  const encoded = Object.entries(values).map(([key, value]) => [key, escapes ? encodeURIComponent(value) : value])
  const filled = fillText(template, Object.fromEntries(encoded))
  if (!/^postgres(?:ql)?:\/\//.test(filled) || !URL.canParse(filled)) {
    throw invalid('connection_url must be a URL such as postgresql://{{username}}:{{password}}@host:5432/name')
  }
  const url = new URL(filled)
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !SSL_MODES.has(mode)) throw invalid('sslmode is invalid')
  // The driver cannot continue without TLS after the server has refused it.
  if (mode === 'allow' || mode === 'prefer') url.searchParams.set('sslmode', 'disable')
  // Gives sslmode the meaning that it has in PostgreSQL.
  if (mode !== null) url.searchParams.set('uselibpqcompat', 'true')
  return url.href
}

const SSL_MODES: ReadonlySet<string> = new Set(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'])
