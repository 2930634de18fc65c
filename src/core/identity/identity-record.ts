/**
 * Entities as they are stored, and where their keys lie. One record is the only truth about an entity and its aliases; the
 * other keys lead to it.
 */
import { sha256Hex } from '../../crypto/digest.js'
import { putJson, type ReadStorage, readJson, type Transaction } from '../../logical/storage.js'
import type { EntityAliasView, EntityView } from '../acl/acl-entity.js'

/** Times in milliseconds since the epoch. */
export interface EntityAlias extends EntityAliasView {
  readonly id: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface Entity extends EntityView {
  readonly namespaceId: string
  /** The names as written; null until somebody wrote them. */
  readonly policies: readonly string[] | null
  readonly isDisabled: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** At most one for each mount, but for those that logins have added. */
  readonly aliases: readonly EntityAlias[]
}

export interface AliasFactors {
  readonly mountAccessor: string
  readonly name: string
  readonly namespaceId: string
}

export const IDENTITY_KEYS = {
  entities: 'entity/',
  entity: (id: string) => `entity/${id}`,
  /** A hash, because names of aliases are credentials' halves and of any length. */
  alias: ({ namespaceId, mountAccessor, name }: AliasFactors) =>
    `alias/${sha256Hex(JSON.stringify([namespaceId, mountAccessor, name]))}`,
  aliasId: (id: string) => `alias-id/${id}`,
  /** Every entity of a namespace has such a key, so the keys list them. Letter case does not tell names apart. */
  names: (namespaceId: string) => `name/${namespaceId}/`,
  name: (namespaceId: string, name: string) => `name/${namespaceId}/${sha256Hex(name.toLowerCase())}`,
} as const

/** An entity as logins stored it before entities could be managed: only the aliases' own keys lead to it. */
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

/** A hash in the form of an id, the same at every reading. */
const derivedId = ({ namespaceId }: FirstEntity, alias: EntityAliasView): string => {
  const hash = sha256Hex(IDENTITY_KEYS.alias({ ...alias, namespaceId }))
  return [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join('-')
}

/** The entity that another key leads to. */
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
 * Makes the store say `after` in place of `before`, with all keys that lead to it; undefined is none.
 */
export const replaceEntity = (tx: Transaction, before: Entity | undefined, after: Entity | undefined): void => {
  // An entity that was never timed may lack keys: they are written with its first change.
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
