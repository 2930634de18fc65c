import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { applyRoleFields, type RoleCall, type TokenRole } from './role-record.js'

/** Token roles, shared by the performance replication set: `<namespace id>/<name>` below their prefix. */
export class TokenRoles {
  readonly #storage: Storage

  /** `storage` is the view of `sys/token-roles/`. */
  constructor(storage: Storage) {
    this.#storage = storage
  }

  find(namespaceId: string, name: string): TokenRole | undefined {
    return readJson<TokenRole>(this.#storage, keyOf(namespaceId, name))
  }

  list(namespaceId: string): Promise<string[]> {
    return this.#storage.list(keyOf(namespaceId, ''))
  }

  /** Merges the sent fields into the role in one transaction. Throws 400, or `read-only` on a secondary. */
  put(namespaceId: string, name: string, call: RoleCall): Promise<{ role: TokenRole; warnings: string[] }> {
    const key = keyOf(namespaceId, name)
    return this.#storage.write((tx) => {
      const result = applyRoleFields(call, name, readJson<TokenRole>(tx, key))
      putJson(tx, key, result.role)
      return result
    })
  }

  async remove(namespaceId: string, name: string): Promise<void> {
    await this.#storage.write((tx) => tx.delete(keyOf(namespaceId, name)))
  }
}

const keyOf = (namespaceId: string, name: string): string => `${namespaceId}/${name}`
