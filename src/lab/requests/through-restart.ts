import { ApiError } from '../../client/api-client.js'

/** Waits until a fact holds: undefined when it does, else what is still false. */
type Wait = (fact: () => Promise<string | undefined>) => Promise<void>

/**
 * Asks a server once more for as long as it says that it restarts, as it does for a moment after each change of role, or that
 * none of its nodes is active, as while another one takes over, or that it is still being given an image by a command that
 * was ended: none of them has done anything. Rejects with any other failure at once, and as the wait does.
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

/** What the text of a refusal says, and what it means. */
const PASSING = [
  ['is restarting', 'it is restarting after a replication change'],
  ['active cluster node not found', 'none of its nodes is active'],
  ['an image is being loaded already', 'an image is being loaded already'],
] as const

const findPassing = (error: unknown): string | undefined =>
  error instanceof ApiError && error.status === 503
    ? PASSING.find(([text]) => error.message.includes(text))?.[1]
    : undefined
