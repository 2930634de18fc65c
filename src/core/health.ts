/** What sys/health says: the state, the status code that stands for it, and the codes a caller wants in their place. */

export interface HealthFacts {
  readonly isInitialized: boolean
  readonly isSealed: boolean
  readonly isDrSecondary: boolean
  /** Not serving right now: a role change or a first copy is under way. */
  readonly isStandby: boolean
}

export type HealthState = 'uninitialized' | 'sealed' | 'drSecondary' | 'standby' | 'active'

/** The code of a state, and the query parameter that replaces it. */
const HEALTH_CODES: Readonly<Record<HealthState, { readonly code: number; readonly parameter: string }>> = {
  uninitialized: { code: 501, parameter: 'uninitcode' },
  sealed: { code: 503, parameter: 'sealedcode' },
  drSecondary: { code: 472, parameter: 'drsecondarycode' },
  standby: { code: 429, parameter: 'standbycode' },
  active: { code: 200, parameter: 'activecode' },
}

export const decideHealth = (facts: HealthFacts): HealthState => {
  if (!facts.isInitialized) return 'uninitialized'
  if (facts.isSealed) return 'sealed'
  if (facts.isDrSecondary) return 'drSecondary'
  return facts.isStandby ? 'standby' : 'active'
}

/** `wanted` are the codes of the query, by parameter. `isStandbyOk` counts a standby, and only that, as active. */
export const healthCode = (
  state: HealthState,
  wanted: Readonly<Record<string, number | undefined>>,
  isStandbyOk: boolean,
): number => {
  const { code, parameter } = HEALTH_CODES[state === 'standby' && isStandbyOk ? 'active' : state]
  return wanted[parameter] ?? code
}
