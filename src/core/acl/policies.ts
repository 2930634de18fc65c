/**
 * The policies of all namespaces, and the access rules built from them. The storage key of a policy contains the
 * namespace ID and the name in lower case: `root/admin`. Parsed policies and built rules are cached until a commit
 * changes a policy.
 */
import { LIMITS } from '../../base/limits.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { type NamespaceRef, ROOT_NAMESPACE } from '../../logical/request.js'
import { deleteKeys, putJson, readJson, type Storage } from '../../logical/storage.js'
import { Acl } from './acl.js'
import type { EntityView } from './acl-pattern.js'
import { type AclPolicy, mergeRules } from './acl-rules.js'
import {
  DEFAULT_POLICY,
  DEFAULT_POLICY_TEXT,
  ROOT_POLICY,
  WRAPPING_POLICY,
  WRAPPING_POLICY_TEXT,
} from './policy-builtin.js'
import { type ParsedPolicy, parsePolicy } from './policy-text.js'

interface Policy {
  readonly name: string
  readonly text: string
}

/** `entity` is set if a template used it. The rules are then valid only for this entity. */
interface CachedAcl {
  readonly acl: Acl
  readonly entity: EntityView | undefined
}

export class PolicyStore {
  readonly #storage: Storage
  /** Parsed policies by storage key. Contains only existing policies, so the number of policies limits its size. */
  readonly #parsed = new Map<string, ParsedPolicy>()
  readonly #acls = new Map<string, CachedAcl>()

  /** `storage` is the view of `sys/policy/`. */
  constructor(options: { storage: Storage }) {
    this.#storage = options.storage
  }

  /**
   * Returns the access rules of a token with these policies in this namespace. Policies that do not exist grant
   * nothing. Throws LogicalError `internal` if a stored policy can no longer be parsed, since its denials would be
   * unknown.
   */
  aclFor(names: readonly string[], namespace: NamespaceRef, entity: EntityView | undefined): Acl {
    const key = JSON.stringify([namespace.id, entity?.id, ...names])
    const cached = this.#acls.get(key)
    if (cached && (cached.entity === undefined || isSameEntity(cached.entity, entity))) return cached.acl
    const made = this.#makeAcl(names, namespace, entity)
    this.#acls.delete(key)
    this.#acls.set(key, made)
    this.#dropOldest()
    return made.acl
  }

  /** Finds a policy by name, in any letter case. `root` has an empty text and exists only in the root namespace. */
  find(namespaceId: string, name: string): Policy | undefined {
    const lower = name.toLowerCase()
    if (lower === ROOT_POLICY) return namespaceId === ROOT_NAMESPACE.id ? { name: lower, text: '' } : undefined
    if (lower === WRAPPING_POLICY) return { name: lower, text: WRAPPING_POLICY_TEXT }
    const record = readJson<Pick<Policy, 'text'>>(this.#storage, storageKey(namespaceId, lower))
    return record && { name: lower, text: record.text }
  }

  /** Returns all names in alphabetical order, including `root` but not `response-wrapping`. */
  async list(namespaceId: string): Promise<string[]> {
    const prefix = `${namespaceId}/`
    const names = (await this.#storage.keys(prefix)).map((key) => key.slice(prefix.length))
    if (namespaceId === ROOT_NAMESPACE.id) names.push(ROOT_POLICY)
    return names.sort()
  }

  /**
   * Stores a policy. Resolves to warnings when the policy is durable and in effect. Rejects with LogicalError 400 for
   * an invalid text and for `root` and `response-wrapping`.
   */
  async put(namespaceId: string, name: string, text: string): Promise<string[]> {
    const lower = name.toLowerCase()
    if (lower === ROOT_POLICY || lower === WRAPPING_POLICY) throw invalid(`cannot update "${lower}" policy`)
    const { warnings } = parsePolicy(text)
    await this.#storage.write((tx) => putJson(tx, storageKey(namespaceId, lower), { text }))
    return [...warnings]
  }

  /**
   * Removes a policy. Does nothing if the policy does not exist. Rejects with LogicalError 400 for a built-in policy.
   */
  async remove(namespaceId: string, name: string): Promise<void> {
    const lower = name.toLowerCase()
    if (lower === ROOT_POLICY || lower === WRAPPING_POLICY) throw invalid(`cannot delete "${lower}" policy`)
    if (lower === DEFAULT_POLICY) throw invalid('cannot delete default policy')
    await this.#storage.write((tx) => tx.delete(storageKey(namespaceId, lower)))
  }

  /** Removes all policies of a deleted namespace, including `default`. */
  async removeAll(namespaceId: string): Promise<void> {
    await deleteKeys(this.#storage, await this.#storage.keys(`${namespaceId}/`))
  }

  /** Creates the `default` policy of a namespace if it is missing. */
  async ensureDefaults(namespaceId: string): Promise<void> {
    if (this.find(namespaceId, DEFAULT_POLICY)) return
    const text = DEFAULT_POLICY_TEXT
    await this.#storage.write((tx) => putJson(tx, storageKey(namespaceId, DEFAULT_POLICY), { text }))
  }

  /** Discards cached data of a changed key below `sys/policy/`. */
  invalidate(key: string): void {
    this.#parsed.delete(key)
    this.#acls.clear()
  }

  #makeAcl(names: readonly string[], namespace: NamespaceRef, entity: EntityView | undefined): CachedAcl {
    const lower = [...new Set(names.map((name) => name.toLowerCase()))]
    if (namespace.id === ROOT_NAMESPACE.id && lower.includes(ROOT_POLICY)) {
      return { acl: new Acl([], true), entity: undefined }
    }
    const policies: AclPolicy[] = []
    let isTemplated = false
    for (const name of lower) {
      const parsed = this.#parse(namespace.id, name)
      if (!parsed) continue
      policies.push({ name, rules: parsed.rules })
      isTemplated ||= parsed.isTemplated
    }
    return { acl: new Acl(mergeRules(policies, namespace.id, entity)), entity: isTemplated ? entity : undefined }
  }

  #parse(namespaceId: string, name: string): ParsedPolicy | undefined {
    const key = storageKey(namespaceId, name)
    const known = this.#parsed.get(key)
    if (known) return known
    const policy = this.find(namespaceId, name)
    if (!policy) return undefined
    try {
      const parsed = parsePolicy(policy.text)
      this.#parsed.set(key, parsed)
      return parsed
    } catch (cause) {
      const text = `the stored policy "${name}" cannot be parsed: write or delete it again`
      throw new LogicalError('internal', text, { cause })
    }
  }

  #dropOldest(): void {
    if (this.#acls.size <= LIMITS.aclCacheEntriesMax) return
    const [oldest] = this.#acls.keys()
    if (oldest !== undefined) this.#acls.delete(oldest)
  }
}

const storageKey = (namespaceId: string, name: string): string => `${namespaceId}/${name}`

/** Compares by content, since the entity store may return a new object on every lookup. */
const isSameEntity = (a: EntityView, b: EntityView | undefined): boolean =>
  a === b || (b !== undefined && JSON.stringify(a) === JSON.stringify(b))
