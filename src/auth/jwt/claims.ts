/** What a role takes from the claims of a token: the name of the user, metadata, groups, and required values. */
import { RawNumber } from '../../base/json.js'
import { matchesWildcards } from '../../base/wildcards.js'
import { invalid } from '../../logical/errors.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'

/** What a role requires of the claims, and takes from them. */
export interface ClaimRules {
  readonly boundClaims: JsonObject
  readonly boundClaimsType: string
  readonly userClaim: string
  readonly isUserClaimPointer: boolean
  readonly groupsClaim: string
  /** Metadata keys by claim. */
  readonly claimMappings: Readonly<Record<string, string>>
}

/** Returns a claim by its name, or by a JSON pointer (RFC 6901) if the name starts with `/`. */
const claimOf = (claims: JsonObject, name: string): JsonValue | undefined => {
  if (!name.startsWith('/')) return memberOf(claims, name)
  const steps = name.slice(1).split('/')
  return steps.reduce<JsonValue | undefined>(
    (value, step) => memberOf(value, step.replaceAll('~1', '/').replaceAll('~0', '~')),
    claims,
  )
}

const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined => {
  if (Array.isArray(value)) return /^\d+$/.test(name) ? value[Number(name)] : undefined
  const isObject = typeof value === 'object' && value !== null && !(value instanceof RawNumber)
  return isObject && Object.hasOwn(value, name) ? value[name] : undefined
}

/** Returns the name of the user. Throws LogicalError 400 if the claim is missing or not a text. */
export const userOf = (claims: JsonObject, { userClaim, isUserClaimPointer }: ClaimRules): string => {
  const value = isUserClaimPointer ? claimOf(claims, userClaim) : memberOf(claims, userClaim)
  if (value === undefined || value === null) throw invalid(`claim ${JSON.stringify(userClaim)} not found in token`)
  if (typeof value !== 'string') throw invalid(`claim ${JSON.stringify(userClaim)} could not be converted to string`)
  return value
}

/** Returns the groups of the user; none if the role has no claim for groups. Throws LogicalError 400. */
export const groupsOf = (claims: JsonObject, { groupsClaim }: ClaimRules): readonly string[] => {
  if (groupsClaim === '') return []
  const name = JSON.stringify(groupsClaim)
  const value = claimOf(claims, groupsClaim)
  if (value === undefined || value === null) throw invalid(`failed to fetch groups: ${name} claim not found in token`)
  const values = Array.isArray(value) ? value : [value]
  const isText = (one: JsonValue): one is string => typeof one === 'string'
  if (!values.every(isText)) throw invalid(`${name} claim could not be converted to string list`)
  return values
}

/** Returns the metadata that the role copies from claims. Skips absent claims. Throws LogicalError 400 for others. */
export const metadataOf = (claims: JsonObject, { claimMappings }: ClaimRules): Record<string, string> => {
  const metadata: Record<string, string> = {}
  for (const [claim, key] of Object.entries(claimMappings)) {
    const value = claimOf(claims, claim)
    if (value === undefined || value === null) continue
    if (typeof value !== 'string') throw invalid(`error converting claim '${claim}' to string`)
    metadata[key] = value
  }
  return metadata
}

/** Throws LogicalError 400 unless each bound claim has one of its values. */
export const checkBoundClaims = (claims: JsonObject, { boundClaims, boundClaimsType }: ClaimRules): void => {
  for (const [name, bound] of Object.entries(boundClaims)) {
    const refuse = (why: string) => invalid(`error validating claims: ${why}`)
    const value = claimOf(claims, name)
    if (value === undefined || value === null) throw refuse(`claim ${JSON.stringify(name)} is missing`)
    const [received, expected] = [claimValues(value), claimValues(bound)]
    if (!received) throw refuse(`received claim is not a string, bool, int or list: ${JSON.stringify(value)}`)
    if (!expected) throw refuse(`bound claim is not a string, bool, int or list: ${JSON.stringify(bound)}`)
    const isEqual = boundClaimsType === 'glob' ? matchesGlob : isSameScalar
    if (!received.some((one) => expected.some((other) => isEqual(other, one)))) {
      throw refuse(`claim ${JSON.stringify(name)} does not match any associated bound claim values`)
    }
  }
}

const matchesGlob = (glob: JsonValue, value: JsonValue): boolean =>
  typeof glob === 'string' && typeof value === 'string' && matchesWildcards(glob, value)

/** Compares two scalars of the same type: the text `true` is not the boolean. */
const isSameScalar = (one: JsonValue, other: JsonValue): boolean =>
  (typeof one === 'string') === (typeof other === 'string') &&
  scalarText(one) !== undefined &&
  scalarText(one) === scalarText(other)

/** Returns the elements of a list, or a scalar as the only one; undefined for any other value. */
export const claimValues = (value: JsonValue): readonly JsonValue[] | undefined => {
  if (Array.isArray(value)) return value
  return scalarText(value) === undefined ? undefined : [value]
}

/** Returns the texts of a scalar or of a list of scalars; undefined for any other value. */
export const claimTexts = (value: JsonValue): readonly string[] | undefined => {
  const texts = (Array.isArray(value) ? value : [value]).map(scalarText)
  return texts.every((text) => text !== undefined) ? texts : undefined
}

const scalarText = (value: JsonValue): string | undefined =>
  ['string', 'boolean', 'number'].includes(typeof value) || value instanceof RawNumber ? String(value) : undefined
