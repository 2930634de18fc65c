/** Look up and destroy SecretIDs by their accessors, which are not secret. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { MountData } from './mount-data.js'
import { ROLE_NAME_FIELD } from './role-name.js'
import { secretIdData } from './secret-id-fields.js'
import { noRole } from './secret-ids.js'

const FIELDS = {
  ...ROLE_NAME_FIELD,
  secret_id_accessor: string('The accessor of the SecretID.', '', { isRequired: true }),
} as const

type AccessorCall = Call<typeof FIELDS>

export const accessorPaths = (data: MountData): PathSpec[] => {
  const lookup = async ({ values }: AccessorCall): Promise<Response | undefined> => {
    const accessor = sentAccessor(values)
    const role = data.roles.find(values.role_name)
    if (!role) throw noRole(values.role_name)
    const found = await data.secretIdsOf(role).findByAccessor(accessor)
    // Clients parse this response as data and would not understand a list of errors.
    if (found === 'unknown') return { status: 404, data: { error: unknownText(accessor) }, mountType: '' }
    return found === 'foreign' ? undefined : { data: secretIdData(found) }
  }

  const destroy = async ({ values }: AccessorCall): Promise<undefined> => {
    const accessor = sentAccessor(values)
    const role = data.findForWrite(values.role_name)
    if (!role) throw noRole(values.role_name)
    const outcome = await data.secretIdsOf(role).destroyByAccessor(accessor)
    if (outcome === 'unknown') throw new LogicalError('not-found', unknownText(accessor))
    if (outcome === 'foreign') throw new LogicalError('permission-denied', 'invalid secret id accessor')
  }

  return [
    definePath({
      pattern: 'role/:role_name/secret-id-accessor/lookup/?',
      fields: FIELDS,
      operations: { update: lookup },
      summary: 'Properties of the SecretID that an accessor belongs to.',
    }),
    definePath({
      pattern: 'role/:role_name/secret-id-accessor/destroy/?',
      fields: FIELDS,
      operations: { update: destroy, delete: destroy },
      summary: 'Destroy the SecretID that an accessor belongs to.',
    }),
  ]
}

const sentAccessor = ({ secret_id_accessor: accessor }: AccessorCall['values']): string => {
  if (accessor === '') throw invalid('missing secret_id_accessor')
  return accessor
}

const unknownText = (accessor: string): string =>
  `failed to find accessor entry for secret_id_accessor: ${JSON.stringify(accessor)}`
