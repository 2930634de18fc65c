/**
 * Stored entities and groups with their keys. One record is authoritative for an entity or a group and its aliases; the
 * other keys are indexes.
 */
import { sha256Hex } from '../../crypto/digest.js'
import { invalid } from '../../logical/errors.js'
import type { AliasFactors, Entity, EntityAlias, IdentityRecord, RecordChange } from '../../logical/identity.js'
import { putJson, readJson, type ReadStorage, type Storage, type Transaction } from '../../logical/storage.js'
import type { EntityAliasView, EntityView } from '../acl/acl-pattern.js'

interface TableOptions<T> {
  /** For example `entity`: the prefix of the keys of records, and the word for messages. */
  readonly word: string
  /** The prefix of all index keys. */
  readonly indexes: string
  /** The error for a change of an unknown ID. */
  readonly unknownId: string
  readonly parse: (stored: unknown) => T
}

/** The stored entities, or the stored groups. */
export class RecordTable<T extends IdentityRecord> {
  readonly word: string
  /** The prefix of the keys of all records. */
  readonly prefix: string
  readonly #options: TableOptions<T>

  constructor(options: TableOptions<T>) {
    this.#options = options
    this.word = options.word
    this.prefix = `${options.word}/`
  }

  key(id: string): string {
    return this.prefix + id
  }

  /** The key contains a hash, because the name of an alias can be part of a credential and can have any length. */
  aliasKey({ namespaceId, mountAccessor, name }: AliasFactors): string {
    return `${this.#options.indexes}alias/${sha256Hex(JSON.stringify([namespaceId, mountAccessor, name]))}`
  }

  read(reader: ReadStorage, id: string): T | undefined {
    const stored = readJson<unknown>(reader, this.key(id))
    return stored === undefined ? undefined : this.#options.parse(stored)
  }

  findById(reader: ReadStorage, namespaceId: string, id: string): T | undefined {
    return within(namespaceId, this.read(reader, id))
  }

  /** Names are case-insensitive. */
  findByName(reader: ReadStorage, namespaceId: string, name: string): T | undefined {
    return this.#follow(reader, this.#nameKey(namespaceId, name))
  }

  findByAlias(reader: ReadStorage, factors: AliasFactors): T | undefined {
    return this.#follow(reader, this.aliasKey(factors))
  }

  findByAliasId(reader: ReadStorage, namespaceId: string, id: string): T | undefined {
    return within(namespaceId, this.#follow(reader, this.#aliasIdKey(id)))
  }

  /**
   * Finds the record to change, by ID or by name. Returns undefined if the change creates a record. Throws LogicalError
   * 400 for an unknown ID and for the name of another record.
   */
  findForChange(reader: ReadStorage, { namespaceId, id, name }: RecordChange): T | undefined {
    const byId = id === undefined ? undefined : this.findById(reader, namespaceId, id)
    if (id !== undefined && !byId) throw invalid(this.#options.unknownId)
    const byName = name === undefined ? undefined : this.findByName(reader, namespaceId, name)
    if (byId && byName && byName.id !== byId.id) throw invalid(`${this.word} name is already in use`)
    return byId ?? byName
  }

  /** Returns the records of a namespace, unordered. */
  async list(storage: Storage, namespaceId: string): Promise<T[]> {
    const keys = await storage.keys(this.#namesPrefix(namespaceId))
    return keys.map((key) => this.#follow(storage, key)).filter((record) => record !== undefined)
  }

  /**
   * Replaces the record `before` with `after`, including all index keys. If `before` is undefined, creates `after`. If
   * `after` is undefined, deletes `before`.
   */
  replace(tx: Transaction, before: T | undefined, after: T | undefined): void {
    // An entity of an earlier version has the creation time 0 and may lack index keys. Its first change writes these
    // keys.
    const had = new Set(before ? this.#indexKeysOf(before) : [])
    const isComplete = before !== undefined && before.createdAtMs > 0
    const has = new Set(after ? this.#indexKeysOf(after) : [])
    const gone = [...had].filter((key) => !has.has(key))
    const added = [...has].filter((key) => !isComplete || !had.has(key))
    for (const key of gone) tx.delete(key)
    if (after) {
      for (const key of added) putJson(tx, key, after.id)
      putJson(tx, this.key(after.id), after)
    } else if (before) tx.delete(this.key(before.id))
  }

  /** Returns the record that an index key refers to. */
  #follow(reader: ReadStorage, key: string): T | undefined {
    const id = readJson<string>(reader, key)
    return id === undefined ? undefined : this.read(reader, id)
  }

  /**
   * Returns the prefix of the name keys of a namespace. Every record except a `FirstEntity` has a name key, so these
   * keys list the records.
   */
  #namesPrefix(namespaceId: string): string {
    return `${this.#options.indexes}name/${namespaceId}/`
  }

  #nameKey(namespaceId: string, name: string): string {
    return this.#namesPrefix(namespaceId) + sha256Hex(name.toLowerCase())
  }

  /** Finds the record into which the record with this ID was merged. */
  findByMergedId(reader: ReadStorage, id: string): T | undefined {
    return this.#follow(reader, this.#mergedKey(id))
  }

  #mergedKey(id: string): string {
    return `${this.#options.indexes}merged/${id}`
  }

  #aliasIdKey(id: string): string {
    return `${this.#options.indexes}alias-id/${id}`
  }

  #indexKeysOf({ namespaceId, name, aliases, mergedIds = [] }: T): string[] {
    return [
      this.#nameKey(namespaceId, name),
      ...mergedIds.map((id) => this.#mergedKey(id)),
      ...aliases.flatMap((alias) => [this.aliasKey({ ...alias, namespaceId }), this.#aliasIdKey(alias.id)]),
    ]
  }
}

const within = <T extends IdentityRecord>(namespaceId: string, record: T | undefined): T | undefined =>
  record?.namespaceId === namespaceId ? record : undefined

export const isAlias = (alias: EntityAlias, factors: Pick<AliasFactors, 'mountAccessor' | 'name'>): boolean =>
  alias.mountAccessor === factors.mountAccessor && alias.name === factors.name

export const ENTITIES = new RecordTable<Entity>({
  word: 'entity',
  indexes: '',
  unknownId: 'entity not found from id',
  parse: (stored) => {
    const entity = stored as Entity | FirstEntity
    return isFirst(entity) ? completed(entity) : entity
  },
})

/**
 * The format in which earlier versions stored the entity of a login. Only alias keys refer to such an entity: it has no
 * name key.
 */
interface FirstEntity extends EntityView {
  readonly namespaceId: string
  readonly createdAtMs?: undefined
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
  const hash = sha256Hex(ENTITIES.aliasKey({ ...alias, namespaceId }))
  return [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join('-')
}
