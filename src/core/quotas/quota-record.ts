/** What a quota applies to. The stored form names the mount by its UUID, so that a moved mount keeps its quotas. */
export interface QuotaTarget {
  readonly namespaceId: string
  /** Empty for a quota of a namespace. */
  readonly mountUuid: string
  /** The rest of the path below the mount. A final `*` stands for any text. Empty for the whole mount. */
  readonly suffix: string
  /** The role of a login. Empty for all requests. */
  readonly role: string
}

export interface Quota extends QuotaTarget {
  readonly name: string
  /** True if the quota of a namespace also applies to child namespaces without their own quota. */
  readonly inheritable: boolean
}

export interface RateQuota extends Quota {
  /** Number of requests of one client in each interval. */
  readonly rate: number
  readonly intervalSeconds: number
  /** Time for which a client that exceeds the rate is blocked; 0 if it may continue in the next interval. */
  readonly blockSeconds: number
}

export interface LeaseQuota extends Quota {
  readonly maxLeases: number
}

/** The stored quotas by kind, as in the paths of the API. */
export interface QuotaKinds {
  'rate-limit': RateQuota
  'lease-count': LeaseQuota
}

export type QuotaKind = keyof QuotaKinds

/** The settings of `sys/quotas/config`. Exempt paths end with `*` or `/` to include all paths below. */
export interface QuotaConfig {
  readonly isAuditing: boolean
  readonly sendsHeaders: boolean
  /** Relative to the namespace of the request. */
  readonly exemptPaths: readonly string[]
  /** With the path of the namespace. */
  readonly absoluteExemptPaths: readonly string[]
}

/** Paths without which an operator could not unseal or recover a server. */
export const DEFAULT_QUOTA_CONFIG: QuotaConfig = {
  isAuditing: false,
  sendsHeaders: false,
  exemptPaths: [
    'sys/generate-recovery-token/attempt',
    'sys/generate-recovery-token/update',
    'sys/generate-root/attempt',
    'sys/generate-root/update',
    'sys/health',
    'sys/seal-status',
    'sys/unseal',
  ],
  absoluteExemptPaths: [],
}
