import { textsOfJson } from '../../base/json-print.js'
import { shortList } from './losses.js'
import { REPLICATION } from './replication.js'

/**
 * The path filter of a performance secondary: the mounts and namespaces that are replicated to it (allow) or not
 * (deny).
 */
export interface PathFilter {
  readonly mode: 'allow' | 'deny'
  readonly paths: readonly string[]
}

/** Returns the API path of the filter of a secondary. `id`: the ID of the secondary at its primary. */
export const filterPath = (id: string): string => `${REPLICATION}/performance/primary/paths-filter/${id}`

/** Parses the response to a read of `filterPath`. Undefined if there is no filter. */
export const parseFilter = ({ data }: Readonly<Record<string, unknown>>): PathFilter | undefined => {
  const { mode, paths } = (data ?? {}) as { readonly mode?: unknown; readonly paths?: unknown }
  return mode === 'allow' || mode === 'deny' ? { mode, paths: textsOfJson(paths) } : undefined
}

/** Returns for example `deny EU/, US/`. */
export const describeFilter = ({ mode, paths }: PathFilter): string => `${mode} ${shortList(paths)}`
