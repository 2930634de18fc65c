import { performance } from 'node:perf_hooks'
import type { ApiClient } from '../../src/client/api-client.js'
import { systemClock } from '../../src/base/clock.js'

/** Returns the last index of the log of a server, from sys/health, which is cheap for the server. */
export const lastIndex = async (client: ApiClient): Promise<number> =>
  Number((await client.call('GET', 'sys/health', {}, [429, 472, 473, 503])).last_wal ?? 0)

/** The limit is high because a first copy of a million keys takes minutes. */
const WAIT_MS = 600_000

/** Polls until `isDone` returns true, and resolves to the elapsed milliseconds. */
export const waitUntil = async (what: string, isDone: () => Promise<boolean>, pauseMs = 1): Promise<number> => {
  const startMs = performance.now()
  while (!(await isDone().catch(() => false))) {
    if (performance.now() - startMs > WAIT_MS) throw new Error(`gave up waiting for ${what}`)
    await systemClock.sleep(pauseMs)
  }
  return performance.now() - startMs
}
