import { ApiError } from '../../client/api-client.js'

/** Waits until a fact holds. A fact resolves with undefined if it holds, else with what is still false. */
type Wait = (fact: () => Promise<string | undefined>) => Promise<void>

/**
 * Retries a request while the server restarts after a role change, no node is active, or an image of an interrupted command is
 * still loading. In none of these cases was the request executed. Rejects immediately with any other error, and as the wait does.
 */
export const throughRestart = async <T>(wait: Wait, ask: () => Promise<T>): Promise<T> => {
  let outcome: (() => T) | undefined
  await wait(async () => {
    try {
      const answer = await ask()
      outcome = () => answer
    } catch (error) {
      const passing = findPassing(error)
      if (passing !== undefined) return passing
      outcome = () => {
        throw error
      }
    }
    return undefined
  })
  if (!outcome) throw new Error('the wait has ended before there was an answer')
  return outcome()
}

/** Texts of temporary errors, and their meaning. */
const PASSING = [
  ['is restarting', 'it is restarting after a replication change'],
  ['active cluster node not found', 'none of its nodes is active'],
  ['an image is being loaded already', 'an image is being loaded already'],
] as const

const findPassing = (error: unknown): string | undefined =>
  error instanceof ApiError && error.status === 503
    ? PASSING.find(([text]) => error.message.includes(text))?.[1]
    : undefined
