import { ApiError, ApiUnreachable } from '../../client/api-client.js'
import { isRefused, linkText } from '../../base/link-text.js'
import { type ClusterAccess, describeServer } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'

/**
 * Waits until a condition holds. The condition resolves with undefined, or with a description of why it does not hold yet.
 */
type Wait = (fact: () => Promise<string | undefined>) => Promise<void>

/**
 * Sends a request, and retries it while it fails with an error of `PASSING`. The server has not executed such a request. Any
 * other error rejects at once. If `wait` rejects, for example on timeout, rejects with its error.
 */
export const throughRestart = async <T>(wait: Wait, ask: () => Promise<T>): Promise<T> => {
  let outcome: Promise<T> | undefined
  await wait(async () => {
    const asked = ask()
    const passing = await asked.then(() => undefined, findPassing)
    if (passing === undefined) outcome = asked
    return passing
  })
  if (!outcome) throw new Error('the wait ended without a response')
  return outcome
}

/** Texts of temporary errors, and their meaning. */
const PASSING = [
  ['is restarting', 'it is restarting after a replication change'],
  ['active cluster node not found', 'none of its nodes is active'],
  ['an image is already being loaded', 'it is loading an image'],
] as const

const findPassing = (error: unknown): string | undefined =>
  error instanceof ApiError && error.status === 503
    ? PASSING.find(([text]) => error.message.includes(text))?.[1]
    : undefined

const HINT = 'is it the CA of this lab?'

/** Describes why a cluster was unreachable. Returns undefined for any other error. */
export const describeUnreachable = (error: unknown): string | undefined =>
  error instanceof ApiUnreachable
    ? `does not respond (${linkText(error.cause, { isTls: error.url.startsWith('https:'), authorityHint: HINT })})`
    : undefined

/** Returns that no server listens at an address, which is a normal state of each start. Undefined for any other error. */
export const findNotListening = (error: unknown): string | undefined =>
  error instanceof ApiUnreachable && isRefused(error)
    ? `no server listens on ${new URL(error.url).origin} yet`
    : undefined

/** Returns an error with the unreachable cluster and the next action. Returns any other error unchanged. */
export const nameUnreachable = (
  { name, apiAddress }: Pick<ClusterAccess, 'name' | 'apiAddress'>,
  error: unknown,
): unknown => {
  const problem = describeUnreachable(error)
  if (problem === undefined) return error
  const next =
    error instanceof Error && isRefused(error)
      ? 'this operation requires it: start it first'
      : 'the last request may still take effect'
  return new LabError('remote', `${describeServer(name)} ${problem} at ${apiAddress}; ${next}`, {
    cause: error,
  })
}
