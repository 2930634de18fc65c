import { createApproleType } from '../../auth/approle/backend.js'
import { certType } from '../../auth/cert/backend.js'
import { createJwtType } from '../../auth/jwt/backend.js'
import { createUserpassType } from '../../auth/userpass/backend.js'
import type { BackendType } from '../../logical/backend.js'
import { createDatabaseType } from '../../secrets/database/backend.js'
import { kvType } from '../../secrets/kv/backend.js'
import { createPkiType } from '../../secrets/pki/backend.js'
import { createSshType } from '../../secrets/ssh/backend.js'
import { totpType } from '../../secrets/totp/backend.js'
import { createTransitType } from '../../secrets/transit/backend.js'
import type { OpenClusterOptions } from '../parts/parts.js'
import { fetchDocument } from './api-call.js'

interface BackendTypesOptions extends Pick<OpenClusterOptions, 'config' | 'shell' | 'network'> {
  readonly database: Parameters<typeof createDatabaseType>[0]
}

/** Creates the backend types that can be mounted. `generic` is the old name of KV version 1. */
export const createBackendTypes = ({
  config: { userLockout, own },
  shell: { passwords, overrides },
  network,
  database,
}: BackendTypesOptions): ReadonlyMap<string, BackendType> => {
  const types = [
    kvType,
    { ...kvType, name: 'generic' },
    createTransitType(overrides?.makePrivateKey),
    createPkiType(overrides?.makePrivateKey),
    createDatabaseType(database),
    createSshType(overrides?.makePrivateKey),
    totpType,
    createApproleType({ tidyIntervalMs: own.approleTidyIntervalMs, lockout: userLockout.approle }),
    certType,
    createJwtType({ fetch: (url, caPem) => fetchDocument(url, caPem, network) }),
    createUserpassType({ passwords, lockout: userLockout.userpass }),
  ]
  return new Map(types.map((type) => [type.name, type]))
}
