import { ApiError } from '../client/api-client.js'

/** Waits until a fact holds: undefined when it does, else what is still false. */
type Wait = (fact: () => Promise<string | undefined>) => Promise<void>

/**
 * Asks a server once more for as long as it says that it restarts, as it does for a moment after each change of role. Rejects
 * with any other failure at once, and as the wait does.
 */
export const throughRestart = async <T>(wait: Wait, ask: () => Promise<T>): Promise<T> => {
  let outcome: (() => T) | undefined
  await wait(async () => {
    try {
      const answer = await ask()
      outcome = () => answer
    } catch (error) {
      if (isRestarting(error)) return 'it is restarting after a replication change'
      outcome = () => {
        throw error
      }
    }
    return undefined
  })
  if (!outcome) throw new Error('the wait has ended before there was an answer')
  return outcome()
}

const isRestarting = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 503 && error.message.includes('is restarting')
