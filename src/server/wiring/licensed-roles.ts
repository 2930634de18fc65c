import { invalid } from '../../logical/errors.js'
import { kindName } from '../../replication/model/guard-texts.js'
import type { License } from '../../replication/model/machine.js'
import { recordKey } from '../../replication/model/state.js'
import type { Kind } from '../../replication/model/types.js'

const NOT_INCLUDED: Readonly<Record<License, readonly Kind[]>> = {
  enterprise: [],
  plus: ['dr'],
  none: ['dr', 'performance'],
}

/**
 * Throws if the license does not include a role of the cluster. Checks only whether the record of a role exists, since its
 * content is encrypted and the server may be sealed.
 */
export const requireLicensedRoles = (license: License, store: { get(key: string): Buffer | undefined }): void => {
  const kind = NOT_INCLUDED[license].find((candidate) => store.get(recordKey(candidate)) !== undefined)
  if (!kind) return
  throw invalid(
    `the license "${license}" does not include ${kindName(kind)} replication, in which this cluster has a role: ` +
      'start it with the license it had, and disable replication first',
  )
}
