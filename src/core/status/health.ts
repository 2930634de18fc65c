/** The response of sys/health: the state, its status code, and the codes that the caller requests instead. */

interface HealthFacts {
  readonly isRemoved: boolean
  readonly isInitialized: boolean
  readonly isSealed: boolean
  readonly isDrSecondary: boolean
  /** The first full sync is in progress: there is no data to serve yet. */
  readonly isBootstrapping: boolean
  readonly isStandby: boolean
  readonly isPerformanceStandby: boolean
  /** Client writes are rejected, since a newer primary of the set exists. */
  readonly isFenced: boolean
}

export type HealthState =
  | 'uninitialized'
  | 'removed'
  | 'sealed'
  | 'bootstrapping'
  | 'drSecondary'
  | 'performanceStandby'
  | 'standby'
  | 'fenced'
  | 'active'

/** The status code of a state, and the query parameter that overrides it. */
const HEALTH_CODES: Readonly<Record<HealthState, { readonly code: number; readonly parameter: string }>> = {
  uninitialized: { code: 501, parameter: 'uninitcode' },
  removed: { code: 530, parameter: 'removedcode' },
  sealed: { code: 503, parameter: 'sealedcode' },
  bootstrapping: { code: 503, parameter: 'sealedcode' },
  drSecondary: { code: 472, parameter: 'drsecondarycode' },
  performanceStandby: { code: 473, parameter: 'performancestandbycode' },
  standby: { code: 429, parameter: 'standbycode' },
  fenced: { code: 503, parameter: 'sealedcode' },
  active: { code: 200, parameter: 'activecode' },
}

export const decideHealth = (facts: HealthFacts): HealthState => {
  if (facts.isRemoved) return 'removed'
  if (!facts.isInitialized) return 'uninitialized'
  if (facts.isSealed) return 'sealed'
  if (facts.isBootstrapping) return 'bootstrapping'
  if (facts.isDrSecondary) return 'drSecondary'
  if (facts.isPerformanceStandby) return 'performanceStandby'
  if (facts.isStandby) return 'standby'
  return facts.isFenced ? 'fenced' : 'active'
}

/** Returns the status code of a state. `wanted` are the codes in the query, by parameter. */
export const healthCode = (state: HealthState, wanted: Readonly<Record<string, number | undefined>>): number => {
  const { code, parameter } = HEALTH_CODES[state]
  return wanted[parameter] ?? code
}
