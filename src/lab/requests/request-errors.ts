import { ApiError, ApiUnreachable } from '../../client/api-client.js'
import { isRefused, linkText } from '../../base/link-text.js'
import { type ClusterAccess, describeServer } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'

/**
 * Waits until a condition holds. The condition resolves with undefined, or with a description of why it does not hold
 * yet.
 */
type Wait = (fact: () => Promise<string | undefined>) => Promise<void>

/**
 * Sends a request, and retries while the server rejects it with an error of `TEMPORARY`, after which the request had no
 * effect. Rejects at once with any other error, and with the error of `wait`, for example on a timeout.
 */
export const throughRestart = async <T>(wait: Wait, ask: () => Promise<T>): Promise<T> => {
  let outcome: Promise<T> | undefined
  await wait(async () => {
    const asked = ask()
    const reason = await asked.then(() => undefined, findTemporary)
    if (reason === undefined) outcome = asked
    return reason
  })
  if (!outcome) throw new Error('the wait ended without a response')
  return outcome
}

/** Texts of temporary errors of a server, and their meanings. */
const TEMPORARY = [
  ['is restarting', 'it is restarting after a replication change'],
  ['active cluster node not found', 'none of its nodes is active'],
  ['an image is already being loaded', 'it is loading an image'],
] as const

const findTemporary = (error: unknown): string | undefined =>
  error instanceof ApiError && error.status === 503
    ? TEMPORARY.find(([text]) => error.message.includes(text))?.[1]
    : undefined

const AUTHORITY_HINT = 'is it the CA of this lab?'

/**
 * Returns a description of an error of the connection, such as `does not respond (...)`. Undefined for any other error.
 */
export const describeUnreachable = (error: unknown): string | undefined =>
  error instanceof ApiUnreachable
    ? `does not respond (${linkText(error.cause, { isTls: error.url.startsWith('https:'), authorityHint: AUTHORITY_HINT })})`
    : undefined

/**
 * Returns the description of a refused connection, which is normal while a server starts. Undefined for any other
 * error.
 */
export const findNotListening = (error: unknown): string | undefined =>
  error instanceof ApiUnreachable && isRefused(error)
    ? `no server listens on ${new URL(error.url).origin} yet`
    : undefined

/** Adds the name of the cluster and the next step to an error of the connection. Returns any other error unchanged. */
export const nameUnreachable = (
  { name, apiAddress }: Pick<ClusterAccess, 'name' | 'apiAddress'>,
  error: unknown,
): unknown => {
  const problem = describeUnreachable(error)
  if (problem === undefined) return error
  const next =
    error instanceof Error && isRefused(error)
      ? 'start it, because this operation requires it'
      : 'the last request may still take effect'
  return new LabError('remote', `${describeServer(name)} ${problem} at ${apiAddress}; ${next}`, {
    cause: error,
  })
}

/** Sends requests to a cluster. Rejects like `nameUnreachable` if it cannot be reached. */
export const namingUnreachable = async <T>(cluster: ClusterAccess, ask: () => Promise<T>): Promise<T> => {
  try {
    return await ask()
  } catch (error) {
    throw nameUnreachable(cluster, error)
  }
}
