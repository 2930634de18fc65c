import { createApproleType } from '../auth/approle/backend.js'
import { userpassType } from '../auth/userpass/backend.js'
import type { BackendType } from '../logical/backend.js'
import { kvType } from '../secrets/kv/backend.js'
import type { ServerConfig } from './config/config.js'

/** What can be mounted. `generic` is the old name of the first key-value engine. */
export const createBackendTypes = (config: ServerConfig): ReadonlyMap<string, BackendType> => {
  const approle = createApproleType({ tidyIntervalMs: config.own.approleTidyIntervalMs, lockout: config.userLockout })
  return new Map([kvType, { ...kvType, name: 'generic' }, approle, userpassType].map((type) => [type.name, type]))
}
