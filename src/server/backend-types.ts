import { userpassType } from '../auth/userpass/backend.js'
import type { BackendType } from '../logical/backend.js'
import { kvType } from '../secrets/kv/backend.js'

/** What can be mounted. `generic` is the old name of the first key-value engine. */
export const BACKEND_TYPES: ReadonlyMap<string, BackendType> = new Map(
  [kvType, { ...kvType, name: 'generic' }, userpassType].map((type) => [type.name, type]),
)
