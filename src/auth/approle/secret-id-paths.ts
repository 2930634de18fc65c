/** Endpoints for a role's SecretIDs: generate, register, list, and look up or destroy by value or by accessor. */
import { wholeSeconds } from '../../base/duration.js'
import { uuid } from '../../base/id.js'
import { type Call, definePath, listed, type PathSpec, shown } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { MountData } from './mount-data.js'
import { ROLE_NAME_FIELD } from './roles.js'
import {
  CUSTOM_FIELDS,
  decideSecretId,
  effectiveTtlSeconds,
  GENERATE_FIELDS,
  type GenerateCall,
  secretIdData,
} from './secret-id-fields.js'
import { checkSecretIdLength } from './secret-id-records.js'
import { noRole } from './secret-ids.js'

const VALUE_FIELDS = {
  ...ROLE_NAME_FIELD,
  secret_id: string('The SecretID.', '', { isSecret: true, isRequired: true }),
} as const

export const secretIdPaths = (data: MountData): PathSpec[] => {
  const { clock, mount, random } = data.context

  const issue = async (call: GenerateCall, secretId: string): Promise<Response> => {
    const role = data.requireForWrite(call.values.role_name)
    const { maxLeaseTtlSeconds } = mount
    const inputs = { accessor: uuid(random), nowMs: clock.now(), maxLeaseTtlSeconds }
    const { accessor, numUses, ttlSeconds } = await data.secretIdsOf(role).add(secretId, (current) => {
      const record = decideSecretId(call, current, inputs)
      checkSecretIdLength(secretId, 'failed to store secret_id: failed to create HMAC of secret ID')
      return record
    })
    return {
      data: {
        secret_id: secretId,
        secret_id_accessor: accessor,
        secret_id_num_uses: numUses,
        secret_id_ttl: wholeSeconds(effectiveTtlSeconds(ttlSeconds, maxLeaseTtlSeconds)),
      },
      wrappedAccessor: accessor,
    }
  }

  const destroy = async ({ values }: Call<typeof VALUE_FIELDS>): Promise<undefined> => {
    checkValue(values.secret_id)
    await data.secretIdsOf(data.requireForWrite(values.role_name)).destroy(values.secret_id)
  }

  return [
    definePath('role/:role_name/secret-id/?', GENERATE_FIELDS, 'Generate a SecretID, or list all accessors.', {
      update: (call) => issue(call, uuid(random)),
      list: ({ values }) => {
        const role = data.roles.find(values.role_name)
        if (!role) throw invalid(noRole(values.role_name).message)
        return listed(data.secretIdsOf(role).accessors())
      },
    }),
    definePath('role/:role_name/custom-secret-id', CUSTOM_FIELDS, 'Add a custom SecretID.', {
      update: (call) => {
        if (call.values.secret_id === '') throw invalid('missing secret_id')
        return issue(call, call.values.secret_id)
      },
    }),
    definePath('role/:role_name/secret-id/lookup/?', VALUE_FIELDS, 'Read the properties of a SecretID.', {
      update: async ({ values }) => {
        checkValue(values.secret_id)
        return shown(await data.secretIdsOf(data.require(values.role_name)).find(values.secret_id), secretIdData)
      },
    }),
    definePath('role/:role_name/secret-id/destroy/?', VALUE_FIELDS, 'Destroy a SecretID.', {
      update: destroy,
      delete: destroy,
    }),
  ]
}

const checkValue = (secretId: string): void => {
  if (secretId === '') throw invalid('missing secret_id')
  checkSecretIdLength(secretId, 'failed to create HMAC of secret_id')
}

const ACCESSOR_FIELDS = {
  ...ROLE_NAME_FIELD,
  secret_id_accessor: string('The accessor of the SecretID.', '', { isRequired: true }),
} as const

type AccessorCall = Call<typeof ACCESSOR_FIELDS>

export const accessorPaths = (data: MountData): PathSpec[] => {
  const destroy = async ({ values }: AccessorCall): Promise<undefined> => {
    const accessor = sentAccessor(values)
    const outcome = await data.secretIdsOf(data.requireForWrite(values.role_name)).destroyByAccessor(accessor)
    if (outcome === 'unknown') throw new LogicalError('not-found', unknownText(accessor))
    if (outcome === 'foreign') throw new LogicalError('permission-denied', 'invalid secret id accessor')
  }

  return [
    definePath(
      'role/:role_name/secret-id-accessor/lookup/?',
      ACCESSOR_FIELDS,
      'Read the properties of a SecretID by its accessor.',
      {
        update: async ({ values }) => {
          const accessor = sentAccessor(values)
          const found = await data.secretIdsOf(data.require(values.role_name)).findByAccessor(accessor)
          // Clients parse the `data` of this response, and cannot parse a list of errors.
          if (found === 'unknown') return { status: 404, data: { error: unknownText(accessor) }, mountType: '' }
          return found === 'foreign' ? undefined : { data: secretIdData(found) }
        },
      },
    ),
    definePath('role/:role_name/secret-id-accessor/destroy/?', ACCESSOR_FIELDS, 'Destroy a SecretID by its accessor.', {
      update: destroy,
      delete: destroy,
    }),
  ]
}

const sentAccessor = ({ secret_id_accessor: accessor }: AccessorCall['values']): string => {
  if (accessor === '') throw invalid('missing secret_id_accessor')
  return accessor
}

const unknownText = (accessor: string): string =>
  `failed to find accessor entry for secret_id_accessor: ${JSON.stringify(accessor)}`
