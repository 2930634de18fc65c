/** What the engine needs from a database. */

/** A user to create or to change. Statements are SQL texts with `{{name}}` and other placeholders. */
export interface DatabaseUser {
  readonly username: string
  readonly password: string
}

export interface DatabasePlugin {
  /** Rejects if the database does not accept the connection. */
  verify(): Promise<void>
  createUser(
    user: DatabaseUser & { readonly expiresMs: number },
    statements: { readonly creation: readonly string[]; readonly rollback: readonly string[] },
  ): Promise<void>
  /** Extends the validity of a user. Without statements, uses those of the plugin. */
  renewUser(username: string, expiresMs: number, statements: readonly string[]): Promise<void>
  setPassword(user: DatabaseUser, statements: readonly string[]): Promise<void>
  /** Removes a user. Resolves if the user does not exist and there are no statements. */
  dropUser(username: string, statements: readonly string[]): Promise<void>
  /** Closes the connections. A statement in progress may complete, unless `aborts` is true. */
  close(aborts?: boolean): Promise<void>
}

/** The settings of a connection that a plugin needs. */
export interface PluginSettings {
  /** The address of the database, with the name and the password of the root user. */
  readonly url: string
  /** True if a connection closes after its statement. */
  readonly keepsNone: boolean
  /** 0 means that a connection has no maximum age. */
  readonly connectionSecondsMax: number
  /** True if the database receives the SCRAM verifier of a password instead of the password. */
  readonly hashesPasswords: boolean
  readonly onError: (error: Error) => void
}

export type OpenPlugin = (settings: PluginSettings) => DatabasePlugin
