import { isRefused, linkText } from '../../base/link-text.js'
import { ApiUnreachable } from '../../client/api-client.js'
import { type ClusterAccess, describeServer } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'

const HINT = 'is it the authority of this lab?'

/** Describes why a cluster was unreachable. Returns undefined for any other error. */
export const describeSilence = (error: unknown): string | undefined =>
  error instanceof ApiUnreachable
    ? `does not answer (${linkText(error.cause, { isTls: error.url.startsWith('https:'), authorityHint: HINT })})`
    : undefined

/** Returns an error with the unreachable cluster and the next action. Returns any other error unchanged. */
export const nameSilent = (
  { name, apiAddress }: Pick<ClusterAccess, 'name' | 'apiAddress'>,
  error: unknown,
): unknown => {
  const silence = describeSilence(error)
  if (silence === undefined) return error
  const next =
    error instanceof Error && isRefused(error)
      ? ': start it first'
      : '; what it was asked last may be done all the same'
  return new LabError('remote', `${describeServer(name)} ${silence} at ${apiAddress}, and has to for this${next}`, {
    cause: error,
  })
}
