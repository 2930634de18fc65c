import type { NamespaceRef } from '../../logical/request.js'
import type { LeaseTtls } from '../../logical/ttl.js'
import { KEYS } from '../../storage/keys/key-families.js'

/** Whether a mount is a secrets engine or an auth method. Each kind has its own mount table, with separate paths. */
export type MountKind = 'secret' | 'auth'

export type MountTokenType = 'default-service' | 'default-batch' | 'service' | 'batch'

/** The settings of a mount that tuning changes. A TTL of 0 seconds means the TTL of the system. */
export interface MountConfig {
  readonly defaultLeaseTtlSeconds: number
  readonly maxLeaseTtlSeconds: number
  readonly forceNoCache: boolean
  readonly listingVisibility?: string
  readonly auditNonHmacRequestKeys?: readonly string[]
  readonly auditNonHmacResponseKeys?: readonly string[]
  readonly passthroughRequestHeaders?: readonly string[]
  readonly allowedResponseHeaders?: readonly string[]
  readonly tokenType?: MountTokenType
  readonly userLockout?: { readonly [key: string]: unknown } | undefined
}

/** One row of a mount table, as stored. */
export interface MountEntry {
  readonly uuid: string
  readonly accessor: string
  readonly kind: MountKind
  /** The path of the mount, with a trailing slash and without `auth/`. */
  readonly path: string
  readonly namespaceId: string
  readonly type: string
  readonly description: string
  readonly isLocal: boolean
  readonly sealWrap: boolean
  readonly externalEntropyAccess: boolean
  readonly options: Readonly<Record<string, string>> | null
  readonly config: MountConfig
}

/** Types that exist once per namespace and cannot be mounted or unmounted. */
export const SINGLETON_TYPES: ReadonlySet<string> = new Set(['system', 'cubbyhole', 'identity', 'token'])

/** Returns the path prefix of requests for the mount, such as `secret/` or `auth/approle/`. */
export const routePath = (entry: Pick<MountEntry, 'kind' | 'path'>): string =>
  entry.kind === 'auth' ? `auth/${entry.path}` : entry.path

/** The key prefixes of entries and of data, by kind: first for replicated mounts, then for local mounts. */
const ENTRIES = { secret: [KEYS.mounts, KEYS.localMounts], auth: [KEYS.authMounts, KEYS.localAuthMounts] } as const
const DATA = { secret: [KEYS.secretData, KEYS.localSecretData], auth: [KEYS.authData, KEYS.localAuthData] } as const

export const entryKey = ({ kind, isLocal, uuid }: Pick<MountEntry, 'kind' | 'isLocal' | 'uuid'>): string =>
  ENTRIES[kind][isLocal ? 1 : 0] + uuid

export const ENTRY_PREFIXES = Object.values(ENTRIES).flat()

/** Returns the key prefix of the mount's data. The data of the backend's local paths is below `localDataPrefix`. */
export const dataPrefix = ({ kind, isLocal, uuid }: MountEntry): string => `${DATA[kind][isLocal ? 1 : 0]}${uuid}/`

export const localDataPrefix = ({ kind, uuid }: MountEntry): string => `${DATA[kind][1]}${uuid}/`

/** Returns the effective lease TTLs of a mount. The default never exceeds the maximum. */
export const effectiveLeaseTtls = (config: MountConfig, system: LeaseTtls): LeaseTtls => {
  const max = config.maxLeaseTtlSeconds || system.maxLeaseTtlSeconds
  return {
    maxLeaseTtlSeconds: max,
    defaultLeaseTtlSeconds: Math.min(config.defaultLeaseTtlSeconds || system.defaultLeaseTtlSeconds, max),
  }
}

export const DEFAULT_CONFIG: MountConfig = { defaultLeaseTtlSeconds: 0, maxLeaseTtlSeconds: 0, forceNoCache: false }

/** Returns the built-in mounts of a namespace. */
export const defaultMounts = (
  namespace: NamespaceRef,
  newUuid: () => string,
  newAccessor: (prefix: string) => string,
): MountEntry[] => {
  const row = (
    kind: MountKind,
    path: string,
    { type, description, ...more }: Pick<MountEntry, 'type' | 'description'> & Partial<MountEntry>,
  ): MountEntry => ({
    uuid: newUuid(),
    accessor: newAccessor(kind === 'auth' ? `auth_${type}` : type),
    kind,
    path,
    namespaceId: namespace.id,
    type,
    description,
    isLocal: false,
    sealWrap: false,
    externalEntropyAccess: false,
    options: null,
    config: DEFAULT_CONFIG,
    ...more,
  })
  return [
    row('secret', 'sys/', {
      type: 'system',
      description: 'system endpoints used for control, policy and debugging',
      sealWrap: true,
      config: { ...DEFAULT_CONFIG, passthroughRequestHeaders: ['Accept'] },
    }),
    row('secret', 'identity/', {
      type: 'identity',
      description: 'identity store',
      config: { ...DEFAULT_CONFIG, passthroughRequestHeaders: ['Authorization'] },
    }),
    row('secret', 'cubbyhole/', {
      type: 'cubbyhole',
      description: 'per-token private secret storage',
      isLocal: true,
    }),
    row('auth', 'token/', {
      type: 'token',
      description: 'token based credentials',
      config: { ...DEFAULT_CONFIG, tokenType: 'default-service' },
    }),
  ]
}
