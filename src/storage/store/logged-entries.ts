import { type Change, operationOf } from '../trees/change.js'
import type { WalEntry } from '../keys/replicable.js'
import type { LoggedEntry, LoggedUnit } from '../commit/stage.js'

/** The log entries of transactions, with the filtered changes and the remote position that are committed with them. */
export type Logged = Pick<LoggedUnit, 'entries' | 'filtered' | 'remote'>

/** Returns the log entries of a transaction of this cluster. */
export const loggedOfOwn = (changes: readonly Change[]): Logged => {
  const operations = changes.flatMap((change) => operationOf(change) ?? [])
  return { entries: entriesOf({ operations }), filtered: [], remote: undefined }
}

/** Returns the log entry of a transaction of this cluster or of another cluster; empty if there are no operations. */
export const entriesOf = ({ operations, bytes }: Pick<WalEntry, 'operations' | 'bytes'>): LoggedEntry[] => {
  if (operations.length === 0) return []
  const hasReplicated = operations.some(({ category }) => category === 'replicated')
  const hasLocal = operations.some(({ category }) => category === 'local')
  return [{ content: bytes ?? operations, hasReplicated, hasLocal }]
}
