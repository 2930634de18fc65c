import { parseDurationMs } from '../../base/duration.js'
import type { BackendContext } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { DatabasePlugin, OpenPlugin } from './plugin.js'
import { postgresUrl } from './postgresql.js'
import type { Connection, DatabaseRecords } from './records.js'
import { parseUsernameTemplate, DEFAULT_USERNAME_TEMPLATE } from './username-template.js'

/** The SQLSTATE classes of PostgreSQL for a wrong user name or password. */
const WRONG_PASSWORD: ReadonlySet<unknown> = new Set(['28P01', '28000'])

interface OpenConnection {
  readonly record: Connection
  readonly plugin: DatabasePlugin
}

/** The open connections to databases, by name. A changed record closes its connection. */
export class Connections {
  readonly #context: BackendContext
  readonly #records: DatabaseRecords['connections']
  readonly #openPlugin: OpenPlugin
  readonly #open = new Map<string, OpenConnection>()
  readonly #closing = new Set<Promise<void>>()

  constructor(context: BackendContext, records: DatabaseRecords['connections'], openPlugin: OpenPlugin) {
    this.#context = context
    this.#records = records
    this.#openPlugin = openPlugin
  }

  /**
   * Runs statements on a database. Rejects with LogicalError 500 if the database is not reachable or rejects them. If a
   * rotation of the root password was interrupted, finds out which of the two passwords is valid.
   */
  async run<T>(name: string, work: (plugin: DatabasePlugin) => Promise<T>): Promise<T> {
    const record = this.require(name)
    try {
      return await work(this.#pluginOf(name, record))
    } catch (error) {
      const { pendingPassword } = record
      if (pendingPassword !== undefined && WRONG_PASSWORD.has(codeOf(error))) {
        return this.runOnce({ ...record, password: pendingPassword }, work)
      }
      throw failed(error)
    }
  }

  /** Runs statements on a connection that is closed afterwards. Rejects with LogicalError 500 if this fails. */
  async runOnce<T>(record: Connection, work: (plugin: DatabasePlugin) => Promise<T>): Promise<T> {
    const plugin = this.#openPlugin(this.#settingsOf(record))
    try {
      return await work(plugin)
    } catch (error) {
      throw failed(error)
    } finally {
      await plugin.close()
    }
  }

  require(name: string): Connection {
    const record = this.#records.find(name)
    if (!record) throw new Error(`the database connection ${JSON.stringify(name)} does not exist`)
    return record
  }

  /** Closes a connection. The next statement opens it with the stored settings. */
  reset(name: string, { aborts = false } = {}): void {
    const open = this.#open.get(name)
    if (!open) return
    this.#open.delete(name)
    const closing: Promise<void> = open.plugin
      .close(aborts)
      .catch((error: unknown) =>
        this.#context.log.warn('a database connection did not close', { error: String(error) }),
      )
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }

  /** Closes all connections, and aborts the statements in progress. */
  async closeAll(): Promise<void> {
    for (const name of this.#open.keys()) this.reset(name, { aborts: true })
    await Promise.all(this.#closing)
  }

  /** Returns a new user name for a role. */
  usernameFor(record: Connection, displayName: string, roleName: string): string {
    const { clock, random } = this.#context
    const template = record.details.username_template
    const render = parseUsernameTemplate(
      typeof template === 'string' && template ? template : DEFAULT_USERNAME_TEMPLATE,
    )
    // A display name may contain any character. The name is part of SQL texts, so quotes must not reach it.
    const username = render({ clock, random, displayName, roleName }).replaceAll(/[^\w.@:+-]/g, '-')
    if (username === '') throw invalid('the username_template of the connection produces an empty name')
    return username
  }

  #pluginOf(name: string, record: Connection): DatabasePlugin {
    const known = this.#open.get(name)
    if (known?.record === record) return known.plugin
    this.reset(name)
    const plugin = this.#openPlugin(this.#settingsOf(record))
    this.#open.set(name, { record, plugin })
    return plugin
  }

  #settingsOf({ details, password }: Connection) {
    const { connection_url, username, max_idle_connections, max_connection_lifetime } = details
    const user = String(username ?? '')
    return {
      url: postgresUrl(String(connection_url), { username: user, name: user, password }, !details.disable_escaping),
      keepsNone: Number(max_idle_connections ?? 0) < 0,
      connectionSecondsMax: (parseDurationMs(String(max_connection_lifetime ?? 0)) ?? 0) / 1000,
      hashesPasswords: details.password_authentication === 'scram-sha-256',
      onError: (error: Error) => this.#context.log.warn('a database connection was lost', { error: error.message }),
    }
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code

/** Returns the message of an error. An error of several addresses has only a code. */
const textOf = (error: unknown): string =>
  error instanceof Error ? error.message || String(codeOf(error)) : String(error)

const failed = (error: unknown): unknown =>
  error instanceof LogicalError
    ? error
    : new LogicalError('internal', textOf(error), {
        cause: error,
        wrapped: true,
      })
