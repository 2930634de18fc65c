import { createApproleType } from '../../auth/approle/backend.js'
import { createUserpassType } from '../../auth/userpass/backend.js'
import type { BackendType } from '../../logical/backend.js'
import { kvType } from '../../secrets/kv/backend.js'
import { createTransitType } from '../../secrets/transit/backend.js'
import type { ServerConfig } from '../config/config.js'
import type { ShellView } from '../parts/shell-view.js'

/** Creates the types that can be mounted. `generic` is the old name of KV version 1. */
export const createBackendTypes = (
  config: ServerConfig,
  { passwords, standIns }: Pick<ShellView, 'passwords' | 'standIns'>,
): ReadonlyMap<string, BackendType> => {
  const { userLockout, own } = config
  const approle = createApproleType({ tidyIntervalMs: own.approleTidyIntervalMs, lockout: userLockout.approle })
  const userpass = createUserpassType({ passwords, lockout: userLockout.userpass })
  const transit = createTransitType(standIns?.makePrivateKey)
  const types = [kvType, { ...kvType, name: 'generic' }, transit, approle, userpass]
  return new Map(types.map((type) => [type.name, type]))
}
