/** Endpoints for whole roles: list, create, update, read, delete, and the RoleID. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, unsupportedPath } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { MountData } from './mount-data.js'
import { parseRoleName, ROLE_NAME_FIELD } from './role-name.js'
import { applyRoleFields, ROLE_FIELDS, type RoleCall, roleData } from './role-fields.js'
import { newRole } from './roles.js'

const ROLE_ID_FIELDS = { ...ROLE_NAME_FIELD, role_id: string('The RoleID.', '', { isRequired: true }) } as const

type NameCall = Call<typeof ROLE_NAME_FIELD>
type RoleIdCall = Call<typeof ROLE_ID_FIELDS>

export const rolePaths = (data: MountData): PathSpec[] => {
  const { roles } = data
  const { random, mount } = data.context

  const list = async (): Promise<Response> => ({ data: { keys: await roles.list() } })

  const read = ({ values }: NameCall): Response | undefined => {
    const role = roles.find(values.role_name)
    return role && { data: roleData(role) }
  }

  const write = async (call: RoleCall): Promise<Response | undefined> => {
    const name = parseRoleName(call.values.role_name)
    const warnings = await roles.write(name, (before) => {
      if (!before && call.request.operation === 'update') {
        throw invalid(`role name ${JSON.stringify(name)} not found during update operation`)
      }
      const { role, warnings } = applyRoleFields(call, before ?? newRole(name, random), { isNew: !before, mount })
      return { role, result: warnings }
    })
    return warnings.length === 0 ? undefined : { warnings }
  }

  const remove = async ({ values }: NameCall): Promise<undefined> => {
    const role = await roles.remove(values.role_name)
    if (role) await data.secretIdsOf(role).clear()
  }

  const readRoleId = ({ values }: NameCall): Response | undefined => {
    const role = roles.find(values.role_name)
    return role && { data: { role_id: role.roleId } }
  }

  const writeRoleId = ({ values }: RoleIdCall): Promise<undefined> =>
    roles.write(values.role_name, (role) => {
      if (!role) throw unsupportedPath()
      if (values.role_id === '') throw invalid('missing role_id')
      return { role: { ...role, roleId: values.role_id }, result: undefined }
    })

  return [
    definePath('role/?', {}, 'List the roles.', { list }),
    definePath('role/:role_name', ROLE_FIELDS, 'Read, write or delete a role.', {
      create: write,
      update: write,
      read,
      delete: remove,
      exists: ({ values }) => roles.find(values.role_name) !== undefined,
    }),
    definePath('role/:role_name/role-id', ROLE_ID_FIELDS, 'Read or set the RoleID of a role.', {
      read: readRoleId,
      update: writeRoleId,
    }),
  ]
}
