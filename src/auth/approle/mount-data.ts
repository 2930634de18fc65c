/**
 * The data of one mount: its roles, and the SecretIDs of each role in the storage that the role selects. Only the
 * performance primary can validate and execute a write of replicated data. On a secondary, such a write fails before it
 * reads any data, and the secondary forwards the request.
 */
import { readOnly } from '../../logical/errors.js'
import type { BackendContext } from '../../logical/backend.js'
import { decidedByPrimary } from '../../logical/decided-by-primary.js'
import { type Role, Roles, Salt } from './roles.js'
import { LOCAL_FOLDERS, REPLICATED_FOLDERS, SecretIdStore } from './secret-id-records.js'
import { noRole, SecretIds } from './secret-ids.js'

export class MountData {
  readonly context: BackendContext
  readonly roles: Roles
  readonly replicated: SecretIdStore
  readonly local: SecretIdStore
  readonly #salt: Salt

  constructor(context: BackendContext) {
    this.context = context
    const storage = decidedByPrimary(context)
    this.#salt = new Salt(storage, context.random)
    this.roles = new Roles(storage, this.#salt)
    this.replicated = new SecretIdStore(storage, REPLICATED_FOLDERS, this.#salt)
    this.local = new SecretIdStore(context.localStorage, LOCAL_FOLDERS, this.#salt)
  }

  secretIdsOf(role: Role): SecretIds {
    const store = role.hasLocalSecretIds ? this.local : this.replicated
    return new SecretIds(role, store, this.roles, () => this.context.clock.now())
  }

  /** Returns a role. Throws LogicalError 404 if the role does not exist. */
  require(name: string): Role {
    const role = this.roles.find(name)
    if (!role) throw noRole(name)
    return role
  }

  /**
   * Finds the role for a write. A role that is unknown on a secondary may not have replicated yet, so the error
   * `read-only` sends the request to the primary.
   */
  requireForWrite(name: string): Role {
    if (this.context.isReadOnly() && !this.roles.find(name)) throw readOnly()
    return this.require(name)
  }

  invalidate(key: string): void {
    this.#salt.invalidate(key)
  }
}
