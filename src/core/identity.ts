import { uuid } from '../base/id.js'
import type { Random } from '../base/random.js'
import { sha256Hex } from '../crypto/digest.js'
import { LogicalError } from '../logical/errors.js'
import { putJson, type ReadStorage, readJson, type Storage } from '../logical/storage.js'
import type { EntityView } from './acl-entity.js'
import { TokenCache } from './token-cache.js'

interface StoredEntity extends EntityView {
  readonly namespaceId: string
}

export interface AliasQuery {
  readonly mountAccessor: string
  readonly name: string
  readonly metadata: Readonly<Record<string, string>>
  readonly namespaceId: string
}

const CACHED_ENTITIES = 10_000
const ENTITIES = 'entity/'
const ALIASES = 'alias/'

/**
 * Who logs in: one entity per namespace, mount and alias name, made at the first login and the same ever after, on every
 * cluster of the set. It is shared data, so only a cluster that may write shared data makes one.
 */
export class IdentityStore {
  readonly #storage: Storage
  readonly #random: Random
  readonly #entities = new TokenCache<EntityView>(CACHED_ENTITIES)
  /** Entity ids by storage key of the alias. */
  readonly #aliases = new TokenCache<string>(CACHED_ENTITIES)

  /** `storage`: view of `sys/identity/`. */
  constructor(options: { storage: Storage; random: Random }) {
    this.#storage = options.storage
    this.#random = options.random
  }

  findEntity(id: string): EntityView | undefined {
    if (id === '') return undefined
    const known = this.#entities.get(id)
    if (known) return known
    const entity = readJson<StoredEntity>(this.#storage, ENTITIES + id)
    if (entity) this.#entities.set(id, entity)
    return entity
  }

  findByAlias(query: Omit<AliasQuery, 'metadata'>): EntityView | undefined {
    const key = aliasKey(query)
    const known = this.#aliases.get(key)
    if (known !== undefined) return this.findEntity(known)
    const id = readJson<string>(this.#storage, key)
    if (id === undefined) return undefined
    this.#aliases.set(key, id)
    return this.findEntity(id)
  }

  /**
   * The entity of the alias, made if there is none; the alias takes over the metadata. Throws LogicalError `read-only`
   * where it would have to be made and shared data cannot be written; new metadata alone is dropped there, so that who is
   * known can log in while the primary is away.
   */
  async findOrCreate(query: AliasQuery): Promise<EntityView> {
    const found = this.findByAlias(query)
    if (found && hasMetadata(found, query)) return found
    try {
      return await this.#put(query)
    } catch (error) {
      if (found && error instanceof LogicalError && error.code === 'read-only') return found
      throw error
    }
  }

  /** How many there are, in all namespaces. */
  async count(): Promise<number> {
    return (await this.#storage.keys(ENTITIES)).length
  }

  /** Replication changed a key (relative to `sys/identity/`). */
  invalidate(key: string): void {
    if (key.startsWith(ENTITIES)) this.#entities.delete(key.slice(ENTITIES.length))
    else this.#aliases.delete(key)
  }

  async #put(query: AliasQuery): Promise<EntityView> {
    const entity = await this.#storage.write((tx): StoredEntity => {
      const before = this.#read(tx, query)
      const after = withAlias(before ?? this.#newEntity(query.namespaceId), query)
      putJson(tx, ENTITIES + after.id, after)
      if (!before) putJson(tx, aliasKey(query), after.id)
      return after
    })
    this.#entities.delete(entity.id)
    return entity
  }

  #read(reader: ReadStorage, query: AliasQuery): StoredEntity | undefined {
    const id = readJson<string>(reader, aliasKey(query))
    return id === undefined ? undefined : readJson<StoredEntity>(reader, ENTITIES + id)
  }

  #newEntity(namespaceId: string): StoredEntity {
    const name = `entity_${this.#random.bytes(4).toString('hex')}`
    return { id: uuid(this.#random), name, metadata: {}, aliases: [], namespaceId }
  }
}

/** A hash, because names of aliases are credentials' halves and of any length. */
const aliasKey = ({ namespaceId, mountAccessor, name }: Omit<AliasQuery, 'metadata'>): string =>
  ALIASES + sha256Hex(JSON.stringify([namespaceId, mountAccessor, name]))

const isAlias = (alias: EntityView['aliases'][number], query: AliasQuery): boolean =>
  alias.mountAccessor === query.mountAccessor && alias.name === query.name

const hasMetadata = (entity: EntityView, query: AliasQuery): boolean => {
  const current = entity.aliases.find((alias) => isAlias(alias, query))?.metadata
  return current !== undefined && canonical(current) === canonical(query.metadata)
}

const canonical = (map: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))

const withAlias = (entity: StoredEntity, query: AliasQuery): StoredEntity => {
  const { mountAccessor, name, metadata } = query
  const others = entity.aliases.filter((alias) => !isAlias(alias, query))
  return { ...entity, aliases: [...others, { mountAccessor, name, metadata }] }
}
