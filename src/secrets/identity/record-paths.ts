/** The paths that entities and groups share: records by ID and by name, aliases, and lookups. */
import { type Call, definePath, type PathSpec, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { type FieldTable, string } from '../../logical/fields.js'
import type {
  AliasChange,
  IdentityDirectory,
  IdentityRecord,
  RecordChange,
  RecordDirectory,
  RecordFinder,
} from '../../logical/identity.js'
import type { Response } from '../../logical/request.js'
import { listedAlias, type Shown, singleAliasData } from './view.js'

/** What distinguishes entities from groups. `F` has the fields of a write, and `A` those of a write of an alias. */
interface RecordKind<T extends IdentityRecord, C extends RecordChange, F extends FieldTable, A extends FieldTable> {
  readonly word: 'entity' | 'group'
  /** The word with an article, and the plural. */
  readonly texts: readonly [one: string, all: string]
  /** The same for aliases. */
  readonly aliasTexts: readonly [one: string, all: string]
  readonly directory: RecordDirectory<T, C>
  readonly mounts: Pick<IdentityDirectory, 'findMount'>
  readonly fields: F
  readonly aliasFields: A
  keysOf(call: Call<F>): { readonly id: string; readonly name: string }
  changeOf(call: Call<F>): C
  aliasIdOf(call: Call<A>): string
  aliasChangeOf(call: Call<A>): AliasChange
  /** Returns the data of the response to a write that created a record. */
  madeData(record: T): Shown
  data(record: T): Shown
  /** Returns a record as an element of a list, without its ID and its name. */
  listed(record: T): Shown
}

/** Creates the paths of entities or groups. */
export const recordPaths = <
  T extends IdentityRecord,
  C extends RecordChange,
  F extends FieldTable,
  A extends FieldTable,
>(
  kind: RecordKind<T, C, F, A>,
): PathSpec[] => {
  const { word, texts, directory, fields } = kind
  const [one, all] = texts
  const update = async (call: Call<F>): Promise<Response | undefined> => {
    const { record, isNew } = await directory.put(kind.changeOf(call))
    return isNew ? { data: kind.madeData(record) } : undefined
  }
  const find = (call: Call<F>, key: 'id' | 'name'): T | undefined => {
    const { id: namespaceId } = call.request.namespace
    const { id, name } = kind.keysOf(call)
    return key === 'id' ? directory.findById(namespaceId, id) : directory.findByName(namespaceId, name)
  }
  const by = (key: 'id' | 'name'): PathSpec[] => [
    definePath(`${word}/${key}/?`, {}, `List the ${all} by ${key}.`, {
      list: async ({ request }) =>
        detailed(
          await directory.list(request.namespace.id),
          (record) => record[key],
          (record) => ({ ...(key === 'id' ? { name: record.name } : { id: record.id }), ...kind.listed(record) }),
        ),
    }),
    definePath(`${word}/${key}/:${key}`, fields, `Read, change or delete ${one} by ${key}.`, {
      read: (call) => shown(find(call, key), (record) => kind.data(record)),
      update,
      // Runs even if the record is missing: on a secondary, the record may not have replicated yet, so the primary
      // decides.
      delete: async (call) => void (await directory.remove(call.request.namespace.id, find(call, key)?.id ?? '')),
    }),
  ]
  return [
    definePath(word, fields, `Create ${one}, or change an existing one.`, { update }),
    ...by('id'),
    ...by('name'),
    ...aliasPaths(kind),
    definePath(`lookup/${word}`, LOOKUP_FIELDS, `Look up ${one} by ID, name or alias.`, {
      update: (call) => shown(lookUp(call, directory), (record) => kind.data(record)),
    }),
  ]
}

/** Returns the response of a list with details, sorted by key. */
const detailed = <T>(items: readonly T[], keyOf: (item: T) => string, infoOf: (item: T) => object): Response => {
  const sorted = [...items].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const info = Object.fromEntries(sorted.map((item) => [keyOf(item), infoOf(item)]))
  return { data: { key_info: info, keys: sorted.map(keyOf) } }
}

const aliasesOf = <T extends IdentityRecord>(record: T) => record.aliases.map((alias) => ({ alias, record }))

/** Creates the paths of aliases. An alias is the name of an entity or a group in an auth method. */
const aliasPaths = <T extends IdentityRecord, C extends RecordChange, F extends FieldTable, A extends FieldTable>(
  kind: RecordKind<T, C, F, A>,
): PathSpec[] => {
  const { directory, mounts, aliasFields } = kind
  const at = `${kind.word}-alias`
  const [one, all] = kind.aliasTexts
  const update = async (call: Call<A>): Promise<Response> => {
    const { alias, record } = await directory.putAlias(kind.aliasChangeOf(call))
    return { data: { canonical_id: record.id, id: alias.id } }
  }
  return [
    definePath(at, aliasFields, `Create ${one}, or change an existing one.`, { update }),
    definePath(`${at}/id/?`, {}, `List the ${all}.`, {
      list: async ({ request }) =>
        detailed(
          (await directory.list(request.namespace.id)).flatMap(aliasesOf),
          ({ alias }) => alias.id,
          ({ alias, record }) => listedAlias(alias, record, mounts),
        ),
    }),
    definePath(`${at}/id/:id`, aliasFields, `Read, change or delete ${one} by its ID.`, {
      read: (call) => {
        const id = kind.aliasIdOf(call)
        const record = directory.findByAliasId(call.request.namespace.id, id)
        const own = record && aliasesOf(record).find(({ alias }) => alias.id === id)
        return shown(own, ({ alias, record: owner }) => singleAliasData(alias, owner, mounts))
      },
      update,
      delete: async (call) => void (await directory.removeAlias(call.request.namespace.id, kind.aliasIdOf(call))),
    }),
  ]
}

const LOOKUP_FIELDS = {
  id: string('ID of the entity or group.'),
  name: string('Name of the entity or group.'),
  alias_id: string('ID of an alias.'),
  alias_name: string('Name of an alias. Requires alias_mount_accessor.'),
  alias_mount_accessor: string('Accessor of the mount of the alias.'),
} as const

/** Returns undefined, which means 204, if nothing matches. */
const lookUp = <T extends IdentityRecord>(
  { request, values }: Call<typeof LOOKUP_FIELDS>,
  finder: RecordFinder<T>,
): T | undefined => {
  const { id: namespaceId } = request.namespace
  const { id, name, alias_id: aliasId, alias_name: aliasName, alias_mount_accessor: mountAccessor } = values
  const criteria = [id, name, aliasId, aliasName || mountAccessor].filter((text) => text !== '')
  if (criteria.length === 0) throw invalid('query parameter not supplied')
  if (criteria.length > 1) throw invalid('query parameter conflict; please supply distinct set of query parameters')
  if (id !== '') return finder.findById(namespaceId, id)
  if (name !== '') return finder.findByName(namespaceId, name)
  if (aliasId !== '') return finder.findByAliasId(namespaceId, aliasId)
  if (aliasName === '' || mountAccessor === '') {
    throw invalid("both 'alias_name' and 'alias_mount_accessor' needs to be set")
  }
  return finder.findByAlias({ namespaceId, mountAccessor, name: aliasName })
}
