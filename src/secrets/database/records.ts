/** The records of the engine, and their keys below the mount. Durations are in seconds, with 0 for not set. */
import { matchesOpenEnds } from '../../base/wildcards.js'
import type { BackendContext } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { Records } from '../../logical/records.js'

/** A configured connection to a database. */
export interface Connection {
  readonly pluginName: string
  readonly allowedRoles: readonly string[]
  /** The settings that the operator has set, by their API names, without the password. */
  readonly details: JsonObject
  readonly password: string
  /** The password of a rotation that may or may not have reached the database. */
  readonly pendingPassword?: string
  readonly passwordPolicy: string
  readonly rotationStatements: readonly string[]
  readonly verifies: boolean
}

export interface Role {
  readonly connection: string
  readonly creationStatements: readonly string[]
  readonly revocationStatements: readonly string[]
  readonly rollbackStatements: readonly string[]
  readonly renewStatements: readonly string[]
  readonly defaultTtlSeconds: number
  readonly maxTtlSeconds: number
}

/** A user of the database whose password the engine rotates. */
export interface StaticRole {
  readonly connection: string
  readonly username: string
  readonly password: string
  /** The password of a rotation that may or may not have reached the database. */
  readonly pendingPassword?: string
  readonly rotationStatements: readonly string[]
  readonly periodSeconds: number
  /** Time of the last rotation, in milliseconds since the epoch; 0 before the first rotation. */
  readonly rotatedMs: number
}

export const CONFIG_PREFIX = 'config/'

export const createRecords = (context: BackendContext) => ({
  connections: new Records<Connection>(context, CONFIG_PREFIX),
  roles: new Records<Role>(context, 'role/'),
  staticRoles: new Records<StaticRole>(context, 'static-role/'),
})

export type DatabaseRecords = ReturnType<typeof createRecords>

/** Returns a connection. Throws LogicalError 400 if it does not exist. */
export const requireKnown = ({ connections }: Pick<DatabaseRecords, 'connections'>, name: string): Connection => {
  const found = connections.find(name)
  if (!found) throw invalid(`failed to find entry for connection with name: ${JSON.stringify(name)}`)
  return found
}

/** Throws LogicalError 400 if a role of the other kind has this name. */
export const requireUnique = (others: { find(name: string): object | undefined }, name: string): void => {
  if (others.find(name)) throw invalid('Role and Static Role names must be unique')
}

/** Returns the connection of a role. Throws LogicalError 400 if the connection does not exist or excludes the role. */
export const requireConnection = (
  records: Pick<DatabaseRecords, 'connections'>,
  connection: string,
  role: string,
): Connection => {
  const found = requireKnown(records, connection)
  if (!found.allowedRoles.some((pattern) => pattern === '*' || matchesOpenEnds(pattern, role))) {
    throw invalid(`${JSON.stringify(role)} is not an allowed role`)
  }
  return found
}
