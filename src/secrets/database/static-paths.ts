/** The paths of static roles, their credentials, and their rotation. */
import { formatNanoTime } from '../../base/rfc3339.js'
import { type Call, definePath, listed, type PathSpec, sentBy, shown } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import { duration, string, stringList } from '../../logical/fields.js'
import { type DatabaseEngine, nextRotationMs } from './engine.js'
import { requireConnection, requireUnique, type StaticRole } from './records.js'
import { refuseCredentials, rejectedFields, ROLE_FIELDS } from './role-paths.js'

const NAME = { name: string('Name of the static role.') } as const

/** The minimum of `rotation_period`. */
const PERIOD_SECONDS_MIN = 5

const REJECTED = [
  'rotation_schedule',
  'rotation_window',
  'password',
  'self_managed_password',
  'skip_import_rotation',
] as const

const FIELDS = {
  ...ROLE_FIELDS,
  username: string('Name of the user in the database.'),
  rotation_period: duration('Time between two rotations: 5 s or more.'),
  rotation_statements: stringList('Statements that change the password. Default: those of the plugin.'),
  ...rejectedFields(REJECTED),
} as const

export const staticPaths = (engine: DatabaseEngine): PathSpec[] => {
  const { staticRoles } = engine.records

  /** Stores a role. Changes the password of a new role at once, since only then the server knows the password. */
  const write = async (call: Call<typeof FIELDS>) => {
    requirePrimary(engine.context)
    refuseCredentials(call.values)
    for (const name of REJECTED) {
      if (call.values[name]) throw invalid(`${JSON.stringify(name)} is not supported`)
    }
    const { name } = call.values
    requireUnique(engine.records.roles, name)
    const isNew = !staticRoles.find(name)
    const role = await staticRoles.update(name, (before) => {
      const merged = mergeStatic(before, call)
      requireConnection(engine.records, merged.connection, name)
      return merged
    })
    if (!isNew || !role) return undefined
    await engine.rotateStatic(name).catch(async (error: unknown) => {
      await staticRoles.remove(name)
      throw error
    })
    return undefined
  }

  return [
    definePath('static-roles/?', {}, 'List the static roles.', { list: () => listed(staticRoles.names()) }),
    definePath('static-roles/:name', FIELDS, 'Create, read, change or delete a static role.', {
      exists: ({ values }) => staticRoles.find(values.name) !== undefined,
      update: write,
      read: ({ values }) => shown(staticRoles.find(values.name), staticData),
      delete: ({ values }) => staticRoles.remove(values.name),
    }),
    definePath('static-creds/:name', NAME, 'Read the current password of a static role.', {
      read: ({ values }) => {
        const role = staticRoles.find(values.name)
        if (!role) throw invalid(`unknown role: ${values.name}`)
        return {
          data: {
            last_vault_rotation: formatNanoTime(role.rotatedMs),
            password: role.password,
            rotation_period: role.periodSeconds,
            ttl: Math.max(0, Math.ceil((nextRotationMs(role) - engine.context.clock.now()) / 1000)),
            username: role.username,
          },
        }
      },
    }),
    definePath('rotate-role/:name', NAME, 'Change the password of a static role now.', {
      update: async ({ values }) => {
        await engine.rotateStatic(values.name)
        return undefined
      },
    }),
  ]
}

const mergeStatic = (before: StaticRole | undefined, call: Call<typeof FIELDS>): StaticRole => {
  const sent = sentBy(call)
  const username = sent('username') ?? before?.username ?? ''
  const connection = sent('db_name') ?? before?.connection ?? ''
  const periodSeconds = sent('rotation_period') ?? before?.periodSeconds ?? 0
  if (connection === '') throw invalid('database name is a required field')
  if (username === '') throw invalid('username is a required field to create a static account')
  if (before && username !== before.username) throw invalid('cannot update static account username')
  if (before === undefined && sent('rotation_period') === undefined) {
    throw invalid('rotation_period is required to create static accounts')
  }
  if (periodSeconds < PERIOD_SECONDS_MIN) {
    throw invalid(`rotation_period must be ${PERIOD_SECONDS_MIN} seconds or more`)
  }
  return {
    ...(before ?? { password: '', rotatedMs: 0 }),
    username,
    connection,
    periodSeconds,
    rotationStatements: sent('rotation_statements') ?? before?.rotationStatements ?? [],
  }
}

const staticData = (role: StaticRole) => ({
  credential_type: 'password',
  db_name: role.connection,
  last_vault_rotation: formatNanoTime(role.rotatedMs),
  rotation_period: role.periodSeconds,
  rotation_statements: role.rotationStatements,
  username: role.username,
})
