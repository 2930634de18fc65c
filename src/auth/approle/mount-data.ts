/**
 * The data of one mount: roles, and for each role its SecretIDs in the storage where that role keeps them. Everything that
 * replicates is decided by the performance primary: elsewhere a write is refused before it decides anything, and the
 * request goes there as a whole.
 */
import type { BackendContext } from '../../logical/backend.js'
import { decidedByPrimary, readOnly } from '../../logical/decided-by-primary.js'
import { type Role, Roles } from './roles.js'
import { Salt } from './salt.js'
import { LOCAL_FOLDERS, REPLICATED_FOLDERS, SecretIdStore } from './secret-id-records.js'
import { SecretIds } from './secret-ids.js'

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

  /** The role a write is about. Where it is unknown it may only not have arrived yet: then the primary has to say so. */
  findForWrite(name: string): Role | undefined {
    const role = this.roles.find(name)
    if (!role && this.context.isReadOnly()) throw readOnly()
    return role
  }

  /** A key below the mount has changed. */
  invalidate(key: string): void {
    this.#salt.invalidate(key)
  }
}
