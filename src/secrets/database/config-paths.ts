/** The paths of connections: configure, read, list, delete, reset, reload, and rotate the root password. */
import { type Call, definePath, listed, type PathSpec, sentBy, shown } from '../../logical/backend.js'
import { parseDurationMs } from '../../base/duration.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { explaining, invalid } from '../../logical/errors.js'
import { bool, commaList, int, string, stringList } from '../../logical/fields.js'
import type { JsonObject } from '../../logical/json.js'
import type { DatabaseEngine } from './engine.js'
import { postgresUrl } from './postgresql.js'
import { type Connection, requireKnown } from './records.js'
import { rejectedFields } from './role-paths.js'

export const PLUGIN = 'postgresql-database-plugin'

const NAME = { name: string('Name of the connection.') } as const

/** The settings of the plugin, which a read returns as `connection_details`. */
const DETAILS = {
  connection_url: string('URL of the database, with {{username}} and {{password}}.'),
  username: string('Name of the root user, which creates and changes other users.'),
  max_open_connections: int('Maximum number of open connections.', 4),
  max_idle_connections: int('A negative number closes each connection after its use.'),
  max_connection_lifetime: string('Maximum age of a connection, as a duration; 0 means no limit.'),
  password_authentication: string('`password`, or `scram-sha-256` to send the database only a verifier.', 'password'),
  username_template: string('Template of the names of dynamic users.'),
  disable_escaping: bool('Whether special characters of username and password stay as they are in the URL.'),
} as const

/** Settings of Vault that this server rejects. */
const REJECTED = [
  'auth_type',
  'service_account_json',
  'self_managed',
  'tls_ca',
  'tls_certificate',
  'private_key',
  'plugin_version',
  'rotation_period',
  'rotation_schedule',
  'rotation_window',
  'disable_automated_rotation',
  'skip_static_role_import_rotation',
] as const

const FIELDS = {
  ...NAME,
  ...DETAILS,
  plugin_name: string(`Name of the plugin: ${PLUGIN}.`),
  verify_connection: bool('Whether the server connects before it stores the settings.', true),
  allowed_roles: commaList('Roles that may use the connection; * means all roles.'),
  root_rotation_statements: stringList('Statements that change the password of the root user.'),
  password: string('Password of the root user.', '', { isSecret: true }),
  password_policy: string('Password policy for new passwords.'),
  ...rejectedFields(REJECTED),
} as const

type ConfigCall = Call<typeof FIELDS>

export const configPaths = (engine: DatabaseEngine): PathSpec[] => {
  const { connections, records } = engine

  const write = async (call: ConfigCall) => {
    requirePrimary(engine.context)
    const { name, verify_connection } = call.values
    const after = mergeConnection(records.connections.find(name), call)
    // Rejects an invalid template.
    explaining(`${NOT_CREATED}unable to initialize username template`, () =>
      connections.usernameFor(after, 'display', 'role'),
    )
    if (verify_connection) {
      await connections
        .runOnce(after, (plugin) => plugin.verify())
        .catch((error: Error) => {
          throw notCreated(`error verifying connection: ${error.message}`)
        })
    }
    // The root password may have been rotated in the meantime.
    await records.connections.update(name, (before) => mergeConnection(before, call))
    connections.reset(name)
    return hasPassword(String(after.details.connection_url)) ? { warnings: [PASSWORD_IN_URL] } : undefined
  }

  return [
    definePath('config/?', {}, 'List the connections.', { list: () => listed(records.connections.names()) }),
    definePath('config/:name', FIELDS, 'Configure, read or delete a connection to a database.', {
      exists: ({ values }) => records.connections.find(values.name) !== undefined,
      update: write,
      read: ({ values }) => shown(records.connections.find(values.name), connectionData),
      delete: ({ values }) => records.connections.remove(values.name),
    }),
    definePath('reset/:name', NAME, 'Close the connections to a database, and open them again when needed.', {
      update: ({ values }) => {
        requireKnown(records, values.name)
        connections.reset(values.name)
        return undefined
      },
    }),
    definePath('reload/:plugin', { plugin: string('Name of the plugin.') }, 'Reset all connections of a plugin.', {
      update: async ({ values }) => {
        requirePlugin(values.plugin)
        const names = await records.connections.names()
        for (const name of names) connections.reset(name)
        return { data: { connections: names, count: names.length } }
      },
    }),
    definePath('rotate-root/:name', NAME, 'Change the password of the root user to one that only the server knows.', {
      update: async ({ values }) => {
        requireKnown(records, values.name)
        await engine.rotateRoot(values.name)
        return undefined
      },
    }),
  ]
}

const requirePlugin = (name: string): void => {
  if (name !== PLUGIN)
    throw invalid(`the plugin ${JSON.stringify(name)} is not supported: the only plugin is ${PLUGIN}`)
}

/** Returns the connection after a write. Fields that the request does not contain stay. Throws LogicalError 400. */
const mergeConnection = (before: Connection | undefined, call: ConfigCall): Connection => {
  const { values } = call
  const sent = sentBy(call)
  for (const name of REJECTED) {
    if (values[name]) throw invalid(`the setting ${JSON.stringify(name)} is not supported`)
  }
  const pluginName = sent('plugin_name') ?? before?.pluginName ?? ''
  if (pluginName === '') throw invalid('empty plugin name')
  requirePlugin(pluginName)
  const details: JsonObject = { ...before?.details }
  for (const name of Object.keys(DETAILS) as (keyof typeof DETAILS)[]) {
    if (call.supplied(name)) details[name] = values[name]
  }
  checkDetails(details)
  const password = sent('password')
  return {
    pluginName,
    details,
    allowedRoles: sent('allowed_roles') ?? before?.allowedRoles ?? [],
    password: password ?? before?.password ?? '',
    ...(before?.pendingPassword !== undefined && password === undefined && { pendingPassword: before.pendingPassword }),
    passwordPolicy: sent('password_policy') ?? before?.passwordPolicy ?? '',
    rotationStatements: sent('root_rotation_statements') ?? before?.rotationStatements ?? [],
    verifies: values.verify_connection,
  }
}

const checkDetails = (details: JsonObject): void => {
  const { connection_url, password_authentication, max_connection_lifetime = 0 } = details
  if (typeof connection_url !== 'string' || connection_url === '') throw notCreated('connection_url cannot be empty')
  postgresUrl(connection_url, { username: 'u', name: 'u', password: 'p' }, true)
  if (parseDurationMs(String(max_connection_lifetime)) === undefined) {
    throw notCreated(`invalid max_connection_lifetime: ${max_connection_lifetime}`)
  }
  if (!['password', 'scram-sha-256', undefined].includes(password_authentication as string | undefined)) {
    throw notCreated(`'${password_authentication}' is not a valid password authentication type`)
  }
}

const NOT_CREATED = 'error creating database object: '
const notCreated = (why: string) => invalid(NOT_CREATED + why)

/** Returns a connection without its passwords. */
const connectionData = ({ pluginName, details, allowedRoles, passwordPolicy, ...rest }: Connection) => ({
  allowed_roles: allowedRoles,
  connection_details: { ...details, connection_url: withoutPassword(String(details.connection_url)) },
  password_policy: passwordPolicy,
  plugin_name: pluginName,
  plugin_version: '',
  root_credentials_rotate_statements: rest.rotationStatements,
  verify_connection: rest.verifies,
})

const PASSWORD_IN_URL =
  'Password found in connection_url, use a templated url to enable root rotation and prevent read access to password information.'

/** A password that the operator has written into a URL, after the scheme and the user name. */
const URL_PASSWORD = /^(\w+:\/\/[^:@/]*:)(?![^@]*\{\{)[^@]*@/

const hasPassword = (url: string): boolean => URL_PASSWORD.test(url)

const withoutPassword = (url: string): string => url.replace(URL_PASSWORD, '$1xxxxx@')
