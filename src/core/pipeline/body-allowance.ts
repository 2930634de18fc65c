import { LIMITS } from '../../base/limits.js'
import type { PathSpec } from '../../logical/backend.js'
import type { BodyAllowance } from '../../logical/incoming.js'

/** The limits for a caller with a valid token: those of the listener. */
export const FULL_ALLOWANCE: BodyAllowance = {
  bytesMax: Number.POSITIVE_INFINITY,
  valuesMax: LIMITS.jsonValuesMax,
  isAuthorised: true,
}

/** Returns the limits for unauthenticated callers, according to the path. */
export const openAllowance = (spec?: Pick<PathSpec, 'openBodyBytesMax'>): BodyAllowance => ({
  bytesMax: spec?.openBodyBytesMax ?? LIMITS.openBodyBytesMax,
  valuesMax: LIMITS.openJsonValuesMax,
  isAuthorised: false,
})
