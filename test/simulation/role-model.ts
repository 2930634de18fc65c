import type { Kind } from '../../src/lab/model/kinds.js'
import type { Call } from '../../src/server/simulated/calls.js'

/** A model of the contract: how clusters may respond to role changes. It uses no code of the product. */

export type Stage = 'disabled' | 'bootstrapping' | 'primary' | 'secondary'

/** The roles of a cluster. A role hidden behind a DR secondary is never shown. */
export interface Roles {
  readonly dr: Stage
  readonly performance: Stage | 'hidden'
}

const STAGES: readonly Stage[] = ['disabled', 'bootstrapping', 'primary', 'secondary']

/** Each combination of roles is exactly one object. */
const ALL: readonly Roles[] = STAGES.flatMap((dr): readonly Roles[] =>
  dr === 'bootstrapping' || dr === 'secondary'
    ? [{ dr, performance: 'hidden' }]
    : STAGES.map((performance) => ({ dr, performance })),
)

const rolesOf = (dr: Stage, performance: Stage | 'hidden' | 'any'): readonly Roles[] =>
  ALL.filter(
    (roles) => roles.dr === dr && (performance === 'any' || [performance, 'hidden'].includes(roles.performance)),
  )

export const NEW_ROLES = rolesOf('disabled', 'disabled')

/** The stages in which each action is possible. */
const FROM = {
  'primary/enable': ['disabled'],
  'primary/demote': ['primary'],
  'primary/disable': ['primary'],
  'primary/secondary-token': ['primary'],
  'primary/revoke-secondary': ['primary'],
  'secondary/enable': ['disabled'],
  'secondary/promote': ['bootstrapping', 'secondary'],
  'secondary/disable': ['bootstrapping', 'secondary'],
  'secondary/update-primary': ['bootstrapping', 'secondary'],
} as const satisfies Readonly<Record<string, readonly Stage[]>>

export type RoleAction = keyof typeof FROM

export const ROLE_ACTIONS = Object.keys(FROM) as readonly RoleAction[]

/** A token that was never issued. */
export const UNKNOWN_TOKEN = 'unknown'

type Credential = 'good' | 'unsure' | 'bad' | 'none'

export interface RoleCall {
  readonly kind: Kind
  readonly action: RoleAction
  /** On a DR secondary: the operation token of an operator. Elsewhere: the token of a client. */
  readonly credential: Credential
  readonly body: Readonly<Record<string, unknown>>
}

const PATH = /^sys\/replication\/(dr|performance)\/((?:primary|secondary)\/[a-z-]+)$/

/** Returns whether a token permits everything. */
type Judge = (token: string) => Exclude<Credential, 'none'>

/** Returns undefined for a call that changes no role. */
export const parseRoleCall = ({ method, path, body = {}, token = '' }: Call, judge: Judge): RoleCall | undefined => {
  const [, kind, action] = PATH.exec(path) ?? []
  if (method !== 'PUT' || !isRoleAction(action)) return undefined
  const role = kind === 'dr' ? 'dr' : 'performance'
  const given = isOperation(role, action) ? String(body.dr_operation_token ?? '') : token
  return { kind: role, action, credential: given === '' ? 'none' : judge(given), body }
}

const isRoleAction = (action: string | undefined): action is RoleAction => action !== undefined && action in FROM

/** Returns true for an action that requires an operation token. */
export const isOperation = (kind: Kind, action: RoleAction): boolean =>
  kind === 'dr' && action.startsWith('secondary/') && action !== 'secondary/enable'

/** `unsafe`: rejected with 503 because data would be lost. */
export type Answered = 'ok' | 400 | 403 | 'unsafe'

/** Returns the possible responses of a cluster in these roles while nothing prevents the change. */
export const answersOf = (roles: Roles, call: RoleCall): readonly Answered[] => {
  const { kind, action, credential } = call
  if (isOperation(kind, action)) {
    if (!isCopy(roles) || credential === 'none') return [400]
  } else if (isCopy(roles)) return [400]
  if (credential === 'bad' || credential === 'none') return [403]
  const answers = (FROM[action] as readonly string[]).includes(roles[kind])
    ? answersInStage(roles, call)
    : ([400] as const)
  return credential === 'unsure' ? [...answers, 403] : answers
}

const isCopy = ({ performance }: Roles): boolean => performance === 'hidden'

const answersInStage = (roles: Roles, { kind, action, body }: RoleCall): readonly Answered[] => {
  switch (action) {
    case 'secondary/promote':
      return body.force === true ? ['ok'] : ['ok', 'unsafe']
    case 'secondary/enable':
      if (body.token === UNKNOWN_TOKEN || roles[kind === 'dr' ? 'performance' : 'dr'] !== 'disabled') return [400]
      // The response depends on the other cluster, which the model does not know.
      return ['ok', 400]
    case 'secondary/update-primary':
      if (body.token === UNKNOWN_TOKEN) return [400]
      return body.token === '' ? ['ok'] : ['ok', 400]
    case 'primary/secondary-token':
      // The ID may be in use.
      return ['ok', 400]
    default:
      return ['ok']
  }
}

/** Returns the roles after a granted change. */
export const after = (roles: Roles, { kind, action }: RoleCall): readonly Roles[] => {
  const become = (stage: Stage, behind: Stage | 'hidden' | 'any'): readonly Roles[] =>
    kind === 'dr' ? rolesOf(stage, behind) : ALL.filter((one) => one.dr === roles.dr && one.performance === stage)
  switch (action) {
    case 'primary/enable':
      return become('primary', roles.performance)
    case 'primary/demote':
      return become('secondary', 'any')
    case 'primary/disable':
      return become('disabled', roles.performance)
    case 'secondary/enable':
      return become('bootstrapping', 'any')
    case 'secondary/promote':
      return become('primary', 'any')
    case 'secondary/disable':
      return become('disabled', 'disabled')
    default:
      return [roles]
  }
}

/** Returns the roles that a cluster reaches by itself, when the first copy is complete. */
export const nextRoles = (roles: Roles): readonly Roles[] => {
  if (roles.dr === 'bootstrapping') return rolesOf('secondary', 'any')
  return roles.performance === 'bootstrapping' ? rolesOf(roles.dr, 'secondary') : []
}

export const shows = (roles: Roles, kind: Kind, mode: unknown): boolean =>
  (roles[kind] === 'hidden' ? 'disabled' : roles[kind]) === mode

export const describeRoles = (all: Iterable<Roles>): string =>
  [...all].map(({ dr, performance }) => `${dr}/${performance}`).join(' or ')
