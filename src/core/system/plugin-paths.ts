import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { builtInVersion } from './mount-paths.js'

const TYPE = { type: string('Type of the plugins: auth, database or secret.') }
const PLUGIN = { ...TYPE, name: string('Name of the plugin.') }

const KINDS = ['auth', 'database', 'secret'] as const

interface PluginPathsOptions {
  readonly reportedVersion: string
  /** The backend types that can be mounted, and the plugins of databases. */
  readonly types: readonly { readonly name: string; readonly kind: (typeof KINDS)[number] }[]
}

/** Creates the paths of sys/plugins/catalog, which lists the built-in types. The server runs no other plugins. */
export const pluginPaths = ({ reportedVersion, types }: PluginPathsOptions): PathSpec[] => {
  const version = builtInVersion(reportedVersion)
  const plugins = types.filter(({ name }) => name !== OLD_KV)
  const namesOf = (kind: string): string[] => {
    if (!KINDS.some((known) => known === kind)) throw invalid(`${JSON.stringify(kind)} is not a supported plugin type`)
    return plugins
      .filter((plugin) => plugin.kind === kind)
      .map(({ name }) => name)
      .sort()
  }
  const facts = { builtin: true, deprecation_status: 'supported', version }
  return [
    definePath('plugins/catalog/?', {}, 'List the plugins of all types.', {
      read: () => ({
        data: {
          ...Object.fromEntries(KINDS.map((kind) => [kind, namesOf(kind)])),
          detailed: KINDS.flatMap((kind) => namesOf(kind).map((name) => ({ ...facts, name, type: kind }))),
        },
      }),
    }),
    definePath('plugins/catalog/:type/?', TYPE, 'List the plugins of one type.', {
      list: ({ values }) => ({ data: { keys: namesOf(values.type) } }),
    }),
    definePath('plugins/catalog/:type/:name', PLUGIN, 'Read a plugin. Plugins cannot be registered or removed.', {
      read: ({ values: { type, name } }) =>
        namesOf(type).includes(name) ? { data: { ...facts, args: null, command: '', name, sha256: '' } } : undefined,
      update: refuse,
      delete: refuse,
    }),
  ]
}

/** The old name of the type `kv`, which the catalog of Vault does not list. */
const OLD_KV = 'generic'

const refuse = (): never => {
  throw invalid('this server runs only its built-in plugins: it cannot register or remove a plugin')
}
