/** One endpoint per row of the property table. Writes run the same checks as a write of the whole role. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { unsupportedPath } from '../../logical/errors.js'
import type { FieldTable } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { checkTokenSettings } from '../../logical/token-fields.js'
import type { MountData } from './mount-data.js'
import { PROPERTIES, type Property, type PropertyCall } from './properties.js'
import { checkSecretIdSettings, ROLE_FIELDS } from './role-fields.js'
import { ROLE_NAME_FIELD } from './role-name.js'
import type { Role } from './roles.js'

type NameCall = Call<typeof ROLE_NAME_FIELD>

export const propertyPaths = (data: MountData): PathSpec[] => PROPERTIES.map((property) => pathOf(data, property))

const pathOf = (data: MountData, { name, fields, summary, read, write, reset }: Property): PathSpec => {
  const { roles } = data

  const show = ({ values }: NameCall): Response | undefined => {
    const role = roles.find(values.role_name)
    return role && read(role)
  }

  const change = (call: NameCall & PropertyCall, write: NonNullable<Property['write']>): Promise<undefined> =>
    roles.write(call.values.role_name, (before) => {
      if (!before) throw unsupportedPath()
      return { role: checked(write(before, call, data.context.mount)), result: undefined }
    })

  const clear = (call: NameCall, reset: NonNullable<Property['reset']>): Promise<undefined> =>
    roles.write(call.values.role_name, (before) => ({ role: before && checked(reset(before)), result: undefined }))

  return definePath<FieldTable>({
    pattern: `role/:role_name/${name}`,
    fields: { ...ROLE_NAME_FIELD, ...Object.fromEntries(fields.map((field) => [field, ROLE_FIELDS[field]])) },
    operations: {
      read: (call) => show(call as NameCall),
      ...(write && { update: (call) => change(call as NameCall & PropertyCall, write) }),
      ...(reset && { delete: (call) => clear(call as NameCall, reset) }),
    },
    summary,
  })
}

const checked = (role: Role | undefined): Role | undefined => {
  if (role) {
    checkSecretIdSettings(role)
    checkTokenSettings(role.token)
  }
  return role
}
