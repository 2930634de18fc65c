/** A step whose answer is known to differ for now. `step` counts from 1, as the replay program prints it. */
export interface Pending {
  readonly flow: string
  readonly step: number
  readonly name: string
  readonly reason: string
}

/**
 * Every difference that is known. A step that stands here and passes fails the tier, and so does an entry that names no
 * step: the table is always true.
 */
export const PENDING: readonly Pending[] = []

const SHARED_DEVICE = 'a performance secondary makes local audit devices only; shared ones are made on its primary'

const OWN_CERTIFICATES = 'each cluster has its own certificates, and the primary has issued that of the authority'
const OWN_ADDRESS = 'the primary, which decides the URLs, does not have the address of the secondary'
const PRIMARY_SETTING = 'the primary makes replicated settings and encryption keys'

const PRIMARY_SHARES = 'a secondary has the key shares of its primary, which alone can change them'

export interface PendingInPair extends Pending {
  /** The one of the two that differs; both where it is absent. */
  readonly role?: PairRole
}

export const PAIR_ROLES = ['primary', 'secondary'] as const

export type PairRole = (typeof PAIR_ROLES)[number]

/** The same for clusters of a performance pair: only what a contract wants to differ there. */
export const PENDING_IN_PAIR: readonly PendingInPair[] = [
  ...[
    [1, 'enable'] as const,
    [3, 'list'] as const,
    [4, 'enable on a path in use'] as const,
    [10, 'hash'] as const,
    [11, 'the same input, the same hash'] as const,
  ].map(([step, name]) => ({ flow: 'audit-devices', step, name, role: 'secondary', reason: SHARED_DEVICE }) as const),
  ...[
    { flow: 'pki-revocation', step: 15, name: 'the certificates', reason: OWN_CERTIFICATES },
    { flow: 'pki-revocation', step: 25, name: 'revoke the authority', reason: OWN_CERTIFICATES },
    { flow: 'pki-roots', step: 119, name: 'the certificate of the deleted authority', reason: OWN_CERTIFICATES },
    { flow: 'pki-urls', step: 24, name: 'an unknown template', reason: OWN_ADDRESS },
    { flow: 'pki-urls', step: 25, name: 'a template that is broken', reason: OWN_ADDRESS },
    { flow: 'pki-urls', step: 26, name: 'templates of an issuer', reason: OWN_ADDRESS },
  ].map((step) => ({ ...step, role: 'secondary' }) as const),
  ...[
    [17, 'an audited header'] as const,
    [18, 'read the audited header'] as const,
    [19, 'all audited headers'] as const,
    [20, 'delete the audited header'] as const,
    [22, 'delete one that is not audited'] as const,
    [33, 'rotate'] as const,
    [35, 'change rotation settings'] as const,
    [36, 'read rotation settings'] as const,
    [39, 'the settings after that'] as const,
    [40, 'the usual settings'] as const,
  ].map(([step, name]) => ({ flow: 'sys-config', step, name, role: 'secondary', reason: PRIMARY_SETTING }) as const),
  ...[
    [3, 'no shares'] as const,
    [4, 'a threshold above the shares'] as const,
    [5, 'a threshold of one of several'] as const,
    [6, 'too few PGP keys'] as const,
    [7, 'a backup without PGP keys'] as const,
    [8, 'start'] as const,
    [9, 'started'] as const,
    [10, 'start twice'] as const,
    [11, 'no verification yet'] as const,
    [13, 'no key'] as const,
    [14, 'a key that is none'] as const,
    [15, 'a key that is too short'] as const,
    [18, 'update nothing'] as const,
    [19, 'verify nothing'] as const,
    [22, 'delete no backup'] as const,
  ].map(([step, name]) => ({ flow: 'sys-rekey', step, name, role: 'secondary', reason: PRIMARY_SHARES }) as const),
  {
    flow: 'transport-headers',
    step: 11,
    name: 'a bad token on a login path does not matter',
    reason: 'sys/health names the replication mode, which is not disabled here',
  },
]
