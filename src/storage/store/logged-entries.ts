import { type Change, operationOf } from '../trees/change.js'
import type { WalEntry } from '../keys/replicable.js'
import type { LoggedEntry, LoggedUnit } from '../commit/stage.js'

/** The log entries of a transaction, and the data logged with them. */
export type Logged = Pick<LoggedUnit, 'entries' | 'filtered' | 'remote'>

/** Returns the log entries of a transaction of this cluster. */
export const loggedOfOwn = (changes: readonly Change[]): Logged => {
  const operations = changes.flatMap((change) => operationOf(change) ?? [])
  return { entries: entriesOf({ operations }), filtered: [], remote: undefined }
}

/** Returns the log entries of a transaction, or of an entry from another cluster's log. */
export const entriesOf = ({ operations, bytes }: Pick<WalEntry, 'operations' | 'bytes'>): LoggedEntry[] => {
  if (operations.length === 0) return []
  const hasReplicated = operations.some(({ category }) => category === 'replicated')
  const hasLocal = operations.some(({ category }) => category === 'local')
  return [{ content: bytes ?? operations, hasReplicated, hasLocal }]
}
