import { textsOfJson } from '../../base/json-print.js'
import { ApiError } from '../../client/api-client.js'
import { LabError } from '../model/lab-error.js'
import { describeFilter, filterPath, parseFilter, type PathFilter } from '../requests/filters.js'
import { idOf } from '../requests/replication.js'
import { ask, requireMode } from './preflight.js'
import type { Runbook } from './runbook.js'

/** Reads and changes path filters. A primary stores the filter of each performance secondary. */

/** Returns the filter of a secondary ID. Undefined if there is none. */
export const findFilter = async (runbook: Runbook, primary: string, id: string): Promise<PathFilter | undefined> =>
  parseFilter(await runbook.read(primary, filterPath(id)))

/** Like `findFilter`, but for a cluster, and prints the request. */
export const showFilter = async (
  runbook: Runbook,
  primary: string,
  secondary: string,
): Promise<PathFilter | undefined> => {
  const path = filterPath(await requireId(runbook, primary, secondary))
  const asked = runbook.call({ cluster: primary, method: 'GET', path, isAuthenticated: true })
  const answer = await asked.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return {}
    throw error
  })
  return parseFilter(answer)
}

/** Replaces the filter of a secondary, which then erases the data that the filter excludes. */
export const setFilter = async (
  runbook: Runbook,
  primary: string,
  secondary: string,
  filter: PathFilter,
): Promise<void> => {
  const id = await requireId(runbook, primary, secondary)
  await runbook.confirmErase(`${secondary} loses the data that the path filter excludes; ${primary} keeps this data`)
  const { warnings } = await runbook.write(primary, filterPath(id), { ...filter })
  for (const text of textsOfJson(warnings)) runbook.say(text)
  runbook.say(`the path filter of ${secondary} is: ${describeFilter(filter)}`)
}

/** Removes the filter of a secondary, which then receives all data. */
export const clearFilter = async (runbook: Runbook, primary: string, secondary: string): Promise<void> => {
  const path = filterPath(await requireId(runbook, primary, secondary))
  await runbook.call({ cluster: primary, method: 'DELETE', path, isAuthenticated: true })
  runbook.say(`${secondary} has no path filter now`)
}

/** Returns the ID of a performance secondary on its primary, even if the secondary does not respond. */
const requireId = async (runbook: Runbook, primary: string, secondary: string): Promise<string> => {
  runbook.requireTwo(primary, secondary)
  const { knownSecondaries } = await requireMode(runbook, primary, 'performance', 'primary')
  const { secondaryId } = await ask(runbook, secondary, 'performance')
  const id = [secondaryId, idOf('performance', secondary)].find((one) => knownSecondaries.includes(one))
  if (id !== undefined) return id
  throw new LabError('remote', `${secondary} is not a performance secondary of ${primary}, so it has no path filter`)
}
