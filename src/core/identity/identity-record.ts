/**
 * Stored entities and their keys. One record is authoritative for an entity and its aliases; the other keys are
 * indexes.
 */
import { sha256Hex } from '../../crypto/digest.js'
import { putJson, readJson, type ReadStorage, type Transaction } from '../../logical/storage.js'
import type { EntityAliasView, EntityView } from '../acl/acl-pattern.js'
import type { AliasFactors, Entity } from '../../logical/identity.js'

export const IDENTITY_KEYS = {
  entities: 'entity/',
  entity: (id: string) => `entity/${id}`,
  /** The key contains a hash, because the name of an alias can be part of a credential and can have any length. */
  alias: ({ namespaceId, mountAccessor, name }: AliasFactors) =>
    `alias/${sha256Hex(JSON.stringify([namespaceId, mountAccessor, name]))}`,
  aliasId: (id: string) => `alias-id/${id}`,
  /**
   * Returns the prefix of the name keys of a namespace. Every entity except a `FirstEntity` has a name key, so these
   * keys list the entities. Names are case-insensitive.
   */
  names: (namespaceId: string) => `name/${namespaceId}/`,
  name: (namespaceId: string, name: string) => `name/${namespaceId}/${sha256Hex(name.toLowerCase())}`,
} as const

/**
 * The format in which earlier versions stored the entity of a login. Only alias keys refer to such an entity: it has no
 * name key.
 */
interface FirstEntity extends EntityView {
  readonly namespaceId: string
  readonly createdAtMs?: undefined
}

export const readEntity = (reader: ReadStorage, id: string): Entity | undefined => {
  const stored = readJson<Entity | FirstEntity>(reader, IDENTITY_KEYS.entity(id))
  return stored && (isFirst(stored) ? completed(stored) : stored)
}

const isFirst = (stored: Entity | FirstEntity): stored is FirstEntity => stored.createdAtMs === undefined

const completed = (first: FirstEntity): Entity => ({
  ...first,
  ...NEVER_TIMED,
  policies: null,
  isDisabled: false,
  aliases: first.aliases.map((alias) => ({
    ...alias,
    ...NEVER_TIMED,
    id: derivedId(first, alias),
    customMetadata: {},
  })),
})

const NEVER_TIMED = { createdAtMs: 0, updatedAtMs: 0 } as const

/** Derives a stable ID from a hash. */
const derivedId = ({ namespaceId }: FirstEntity, alias: EntityAliasView): string => {
  const hash = sha256Hex(IDENTITY_KEYS.alias({ ...alias, namespaceId }))
  return [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join('-')
}

/** Returns the entity that an index key refers to. */
export const followKey = (reader: ReadStorage, key: string): Entity | undefined => {
  const id = readJson<string>(reader, key)
  return id === undefined ? undefined : readEntity(reader, id)
}

const keysOf = (entity: Entity): string[] => [
  IDENTITY_KEYS.name(entity.namespaceId, entity.name),
  ...entity.aliases.flatMap((alias) => [
    IDENTITY_KEYS.alias({ ...alias, namespaceId: entity.namespaceId }),
    IDENTITY_KEYS.aliasId(alias.id),
  ]),
]

/**
 * Replaces the entity `before` with `after`, including all index keys. If `before` is undefined, creates `after`. If
 * `after` is undefined, deletes `before`.
 */
export const replaceEntity = (tx: Transaction, before: Entity | undefined, after: Entity | undefined): void => {
  // An entity of an earlier version has the creation time 0 and may lack index keys. Its first change writes these
  // keys.
  const had = new Set(before ? keysOf(before) : [])
  const isComplete = before !== undefined && before.createdAtMs > 0
  const has = new Set(after ? keysOf(after) : [])
  const gone = [...had].filter((key) => !has.has(key))
  const added = [...has].filter((key) => !isComplete || !had.has(key))
  for (const key of gone) tx.delete(key)
  if (after) {
    for (const key of added) putJson(tx, key, after.id)
    putJson(tx, IDENTITY_KEYS.entity(after.id), after)
  } else if (before) tx.delete(IDENTITY_KEYS.entity(before.id))
}
