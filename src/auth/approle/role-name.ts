/**
 * The role_name of all endpoints: letters, digits, space, hyphen, underscore and period in any position. Names are
 * case-insensitive, and stored and shown in lower case.
 */
import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'

export const ROLE_NAME_FIELD = { role_name: string('Name of the role, case-insensitive.') } as const

/** Returns the name as stored. Throws 400 with the violated rule. */
export const parseRoleName = (text: string): string => {
  if (Buffer.byteLength(text) > LIMITS.roleNameBytesMax) {
    throw invalid(`role_name must be shorter than ${LIMITS.roleNameBytesMax + 1} bytes`)
  }
  if (text === '.' || text === '..') throw invalid('relative paths not supported')
  if (!/^[A-Za-z0-9 _.-]+$/.test(text)) {
    throw invalid('role_name may only consist of letters, digits, spaces, hyphens, underscores and periods')
  }
  return text.toLowerCase()
}
