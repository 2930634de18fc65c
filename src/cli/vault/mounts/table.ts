/** Lists of mounts as tables. */
import { isMap, type JsonMap } from '../model/json-map.js'
import { formatTable, type Row } from '../render/columns.js'
import { goText } from '../render/go-text.js'
import { textOf } from '../model/secret.js'

type Column = readonly [title: string, cell: (mount: JsonMap) => string]

const configOf = ({ config }: JsonMap): JsonMap => (isMap(config) ? config : {})

/** Formats a TTL. A mount without its own TTL uses the system's. */
const lifetime = (value: unknown): string => (Number(goText(value ?? 0)) === 0 ? 'system' : goText(value))

const text =
  (name: string) =>
  (mount: JsonMap): string =>
    mount[name] === undefined || mount[name] === null ? '' : goText(mount[name])

const BRIEF: readonly Column[] = [
  ['Type', text('type')],
  ['Accessor', text('accessor')],
  ['Description', text('description')],
]

const DETAILED: readonly Column[] = [
  ['Plugin', text('type')],
  ['Accessor', text('accessor')],
  ['Default TTL', (mount) => lifetime(configOf(mount).default_lease_ttl)],
  ['Max TTL', (mount) => lifetime(configOf(mount).max_lease_ttl)],
  ['Force No Cache', (mount) => goText(configOf(mount).force_no_cache ?? false)],
  ['Replication', (mount) => (mount.local === true ? 'local' : 'replicated')],
  ['Seal Wrap', text('seal_wrap')],
  ['External Entropy Access', text('external_entropy_access')],
  ['Options', (mount) => goText(mount.options ?? {})],
  ['Description', text('description')],
  ['UUID', text('uuid')],
  ['Version', text('plugin_version')],
  ['Running Version', text('running_plugin_version')],
  ['Running SHA256', text('running_sha256')],
  ['Deprecation Status', text('deprecation_status')],
]

const TOKEN_TYPE: Column = ['Token Type', (mount) => textOf(configOf(mount).token_type)]

/** Formats a table of mounts. `mounts`: by path. */
export const formatMounts = (mounts: JsonMap, kind: 'secrets' | 'auth', isDetailed: boolean): string => {
  const brief: readonly Column[] = kind === 'auth' ? [...BRIEF, ['Version', text('plugin_version')]] : BRIEF
  const detailed = kind === 'auth' ? [...DETAILED.slice(0, 4), TOKEN_TYPE, ...DETAILED.slice(5)] : DETAILED
  const columns = isDetailed ? detailed : brief
  const rows = Object.keys(mounts)
    .sort()
    .map((path): Row => {
      const mount = mounts[path]
      return [path, ...columns.map(([, cell]) => (isMap(mount) ? cell(mount) : ''))]
    })
  return formatTable(['Path', ...columns.map(([title]) => title)], rows)
}
