import { LIMITS } from '../../base/limits.js'
import type { PathSpec } from '../../logical/backend.js'
import type { BodyAllowance } from '../../logical/incoming.js'

/** The limits for whoever shows a good token: as much as the listener takes. */
export const FULL_ALLOWANCE: BodyAllowance = {
  bytesMax: Number.POSITIVE_INFINITY,
  valuesMax: LIMITS.jsonValuesMax,
  isAuthorised: true,
}

/** The limits for everybody else, as the path says. */
export const openAllowance = (spec?: Pick<PathSpec, 'openBodyBytesMax'>): BodyAllowance => ({
  bytesMax: spec?.openBodyBytesMax ?? LIMITS.openBodyBytesMax,
  valuesMax: LIMITS.openJsonValuesMax,
  isAuthorised: false,
})
