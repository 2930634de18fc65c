/** The paths of dynamic roles and their credentials, and the lifetime of these credentials. */
import { lifeMs } from '../../base/duration.js'
import { type Call, definePath, listed, type PathSpec, sentBy, shown } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import { any, duration, map, string, stringList } from '../../logical/fields.js'
import type { LeasedSecret } from '../../logical/request.js'
import { decideTtl, type TtlDecision } from '../../logical/ttl.js'
import type { DatabaseEngine } from './engine.js'
import { requireConnection, requireUnique, type Role } from './records.js'

const NAME = { name: string('Name of the role.') } as const

/** Returns the fields of settings of Vault that this server rejects. */
export const rejectedFields = <N extends string>(names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, any('Rejected: not supported.')])) as Record<N, ReturnType<typeof any>>

/** The fields that dynamic and static roles have in common. */
export const ROLE_FIELDS = {
  ...NAME,
  db_name: string('Name of the connection.'),
  credential_type: string('Type of the credentials: password.', 'password'),
  credential_config: map('Rejected: not supported.'),
} as const

const FIELDS = {
  ...ROLE_FIELDS,
  creation_statements: stringList('Statements that create a user.'),
  revocation_statements: stringList('Statements that remove a user. Default: those of the plugin.'),
  rollback_statements: stringList('Statements to run if a creation statement fails.'),
  renew_statements: stringList('Statements that extend the validity of a user. Default: those of the plugin.'),
  default_ttl: duration('TTL of the credentials. Default: that of the mount.'),
  max_ttl: duration('Maximum TTL of the credentials. Default: that of the mount.'),
} as const

/** The user name gets this time in addition to its lease, so that the database does not reject it earlier. */
const GRACE_MS = 5000

export const rolePaths = (engine: DatabaseEngine): PathSpec[] => {
  const { records } = engine
  return [
    definePath('roles/?', {}, 'List the roles.', { list: () => listed(records.roles.names()) }),
    definePath('roles/:name', FIELDS, 'Create, read, change or delete a role.', {
      exists: ({ values }) => records.roles.find(values.name) !== undefined,
      update: async (call) => {
        requirePrimary(engine.context)
        refuseCredentials(call.values)
        requireUnique(records.staticRoles, call.values.name)
        await records.roles.update(call.values.name, (before) => mergeRole(before, call))
        return undefined
      },
      read: ({ values }) => shown(records.roles.find(values.name), roleData),
      delete: ({ values }) => records.roles.remove(values.name),
    }),
    definePath('creds/:name', NAME, 'Create a user of a database, with a lease.', {
      read: async ({ request, values }) => {
        const name = values.name
        const role = records.roles.find(name)
        if (!role) throw invalid(`unknown role: ${name}`)
        const connection = requireConnection(records, role.connection, name)
        const { clock } = engine.context
        const { ttlSeconds, warnings } = ttlOf(engine, role, 'now', 0)
        const username = engine.connections.usernameFor(connection, request.token?.displayName ?? '', name)
        const password = engine.newPassword(connection)
        const user = { username, password, expiresMs: clock.now() + lifeMs(ttlSeconds) + GRACE_MS }
        const statements = { creation: role.creationStatements, rollback: role.rollbackStatements }
        await engine.connections
          .run(role.connection, (plugin) => plugin.createUser(user, statements))
          .catch(async (error: unknown) => {
            // If the connection was lost, the user may exist.
            const drop = engine.connections.run(role.connection, (plugin) =>
              plugin.dropUser(username, role.revocationStatements),
            )
            await drop.catch(() => undefined)
            throw error
          })
        const internal = {
          role: name,
          db_name: role.connection,
          username,
          revocation_statements: [...role.revocationStatements],
        }
        return {
          data: { password, username },
          lease: { ttlSeconds, isRenewable: true, internal },
          warnings: [...warnings],
        }
      },
    }),
  ]
}

/** Extends the validity of a user. Rejects with LogicalError 400 if the role no longer exists. */
export const renewCredentials = async (
  engine: DatabaseEngine,
  { internal, issuedMs }: LeasedSecret,
  incrementSeconds: number,
): Promise<TtlDecision> => {
  const role = engine.records.roles.find(String(internal.role))
  if (!role) throw invalid(`error during renew: could not find role with name ${JSON.stringify(internal.role)}`)
  const decision = ttlOf(engine, role, issuedMs, incrementSeconds)
  const expiresMs = engine.context.clock.now() + lifeMs(decision.ttlSeconds) + GRACE_MS
  await engine.connections.run(role.connection, (plugin) =>
    plugin.renewUser(String(internal.username), expiresMs, role.renewStatements),
  )
  return decision
}

/** Removes a user. If the role no longer exists, uses the statements from the time of its creation. */
export const revokeCredentials = async (engine: DatabaseEngine, { internal }: LeasedSecret): Promise<void> => {
  const role = engine.records.roles.find(String(internal.role))
  const statements = role?.revocationStatements ?? (internal.revocation_statements as string[])
  await engine.connections.run(role?.connection ?? String(internal.db_name), (plugin) =>
    plugin.dropUser(String(internal.username), statements),
  )
}

/** Decides the TTL of a user that was issued at a time, or is issued now. */
const ttlOf = (
  { context }: DatabaseEngine,
  role: Role,
  issued: number | 'now',
  incrementSeconds: number,
): TtlDecision => {
  const nowMs = context.clock.now()
  return decideTtl({
    nowMs,
    issuedMs: issued === 'now' ? nowMs : issued,
    incrementSeconds,
    ttlSeconds: role.defaultTtlSeconds,
    maxTtlSeconds: role.maxTtlSeconds,
    explicitMaxTtlSeconds: 0,
    periodSeconds: 0,
    mount: context.mount,
  })
}

/** Types of credentials of Vault. */
const UNSUPPORTED_TYPES: ReadonlySet<string> = new Set(['rsa_private_key', 'client_certificate'])

/** Throws LogicalError 400 for types of credentials that are not supported. */
export const refuseCredentials = (values: {
  readonly credential_type: string
  readonly credential_config: object | null
}): void => {
  const type = values.credential_type
  if (UNSUPPORTED_TYPES.has(type)) {
    throw invalid(`the credential_type ${JSON.stringify(type)} is not supported: use "password"`)
  }
  if (type !== 'password' && type !== '') throw invalid(`invalid credential_type ${JSON.stringify(type)}`)
  if (Object.keys(values.credential_config ?? {}).length > 0) {
    throw invalid('credential_config is not supported: set password_policy of the connection')
  }
}

const mergeRole = (before: Role | undefined, call: Call<typeof FIELDS>): Role => {
  const sent = sentBy(call)
  const role: Role = {
    connection: sent('db_name') ?? before?.connection ?? '',
    creationStatements: sent('creation_statements') ?? before?.creationStatements ?? [],
    revocationStatements: sent('revocation_statements') ?? before?.revocationStatements ?? [],
    rollbackStatements: sent('rollback_statements') ?? before?.rollbackStatements ?? [],
    renewStatements: sent('renew_statements') ?? before?.renewStatements ?? [],
    defaultTtlSeconds: sent('default_ttl') ?? before?.defaultTtlSeconds ?? 0,
    maxTtlSeconds: sent('max_ttl') ?? before?.maxTtlSeconds ?? 0,
  }
  if (role.connection === '') throw invalid('database name is required')
  return role
}

const roleData = (role: Role) => ({
  creation_statements: role.creationStatements,
  credential_type: 'password',
  db_name: role.connection,
  default_ttl: role.defaultTtlSeconds,
  max_ttl: role.maxTtlSeconds,
  renew_statements: role.renewStatements,
  revocation_statements: role.revocationStatements,
  rollback_statements: role.rollbackStatements,
})
