import type { Kind } from '../model/kinds.js'
import type { LinkFaultName } from '../proxy/link-faults.js'
import type { LabSettings } from '../model/settings.js'
import type { ExpectationName, FactName } from './schema/expectations.js'
import type { Verb } from './schema/steps.js'
import type { ClientKind } from './result.js'

/** The environments in which the servers of a drill can run. */
export const RUNNERS = ['process', 'in-process', 'docker'] as const
export type Runner = (typeof RUNNERS)[number]

/** A drill as its file defines it, after schema validation. For the meaning of each part, see `schema/`. */
export interface Drill {
  readonly name: string
  readonly purpose: string
  readonly symptom: string | undefined
  readonly fix: string | undefined
  /** The name or file of a topology. */
  readonly topology: string
  /** If empty, the drill runs in every environment. */
  readonly runners: readonly Runner[]
  readonly settings: LabSettings
  readonly shares: number
  readonly threshold: number
  readonly load: LoadPlan | undefined
  readonly setup: readonly Step[]
  readonly steps: readonly Step[]
  readonly expect: readonly Expectation[]
}

export interface LoadPlan {
  readonly writers: number
  readonly logins: number
  readonly readers: number
  readonly tokens: number
  readonly at: readonly string[] | undefined
  readonly everyMs: number
  readonly patienceMs: number
  readonly readBackOn: string | undefined
}

/** A verb with its value. */
export type Step = {
  readonly [V in Verb]: {
    readonly verb: V
    readonly name: string | undefined
    readonly error: ExpectedError | undefined
    readonly with: VerbValues[V]
  }
}[Verb]

interface ExpectedError {
  readonly status?: number
  readonly contains?: string
}

export type Expectation = {
  readonly [E in ExpectationName]: { readonly about: E; readonly with: ExpectationValues[E] }
}[ExpectationName]

export type Fact = Extract<Expectation, { readonly about: FactName }>

export type Clusters = string | readonly string[]
export type Count = number | Bounds
interface Bounds {
  readonly 'at-least'?: number
  readonly 'at-most'?: number
}

export interface ExpectedAnswer {
  readonly status?: number | readonly number[]
  readonly body?: unknown
  readonly data?: unknown
  readonly error?: string
  readonly warning?: string
}

export interface CallValue {
  readonly cluster: string
  readonly method?: string
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly token?: string
  readonly namespace?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly expect?: ExpectedAnswer
  readonly save?: Readonly<Record<string, string>>
  readonly within?: string
}

export interface FaultValue {
  readonly name: LinkFaultName
  readonly between: readonly [string, string]
  readonly 'one-way'?: boolean
  readonly for?: string
  readonly delay?: string
  readonly jitter?: string
  readonly 'bytes-per-second'?: number
  readonly after?: string
  readonly bytes?: number
  readonly variation?: number
}

export interface WaitValue {
  readonly for:
    | 'answering'
    | 'unsealed'
    | 'active'
    | 'accepting-writes'
    | 'replicated'
    | 'converged'
    | 'health'
    | 'status'
    | 'lag'
  readonly cluster?: string
  readonly within?: string
  readonly health?: number
  readonly kind?: Kind
  readonly is?: unknown
  readonly primary?: string
  readonly entries?: Bounds
}

export interface VerbValues {
  readonly start: Clusters
  readonly stop: Clusters
  readonly restart: Clusters
  readonly crash: Clusters
  readonly pause: Clusters
  readonly resume: Clusters
  readonly wipe: Clusters
  readonly seal: Clusters
  readonly unseal: Clusters
  readonly fault: FaultValue
  readonly heal: 'all' | { readonly between: readonly [string, string] }
  readonly hold: { readonly cluster: string; readonly state: string; readonly kind: Kind }
  readonly release: { readonly cluster: string; readonly state?: string; readonly kind?: Kind }
  readonly corrupt: { readonly cluster: string; readonly tree?: string; readonly page?: number }
  readonly skew: { readonly cluster: string; readonly by: string }
  readonly disk: { readonly cluster: string; readonly state: string; readonly delay?: string }
  readonly 'expire-token': { readonly cluster: string; readonly id: string; readonly kind: Kind }
  readonly call: CallValue
  readonly promote: {
    readonly cluster: string
    readonly kind: Kind
    readonly token?: string
    readonly force?: boolean
  }
  readonly demote: { readonly cluster: string; readonly kind: Kind }
  readonly disable: { readonly cluster: string; readonly kind: Kind }
  readonly join: {
    readonly primary: string
    readonly secondary: string
    readonly kind: Kind
    readonly filter?: { readonly mode: 'allow' | 'deny'; readonly paths: readonly string[] }
  }
  readonly 'update-primary': {
    readonly cluster: string
    readonly kind: Kind
    readonly primary?: string
    readonly token?: string
    readonly addresses?: readonly string[]
    readonly 'operation-token'?: string
  }
  readonly revoke: { readonly primary: string; readonly secondary: string; readonly kind: Kind; readonly id?: string }
  readonly filter: {
    readonly primary: string
    readonly secondary: string
    readonly id?: string
    readonly mode?: 'allow' | 'deny'
    readonly paths?: readonly string[]
    readonly remove?: boolean
  }
  readonly write: {
    readonly cluster: string
    readonly path: string
    readonly fields: Readonly<Record<string, unknown>>
    readonly times?: number
  }
  readonly read: {
    readonly cluster: string
    readonly path: string
    readonly token?: string
    readonly is?: unknown
    readonly absent?: boolean
    readonly expect?: ExpectedAnswer
    readonly within?: string
  }
  readonly wait: string | WaitValue
  readonly checkpoint: readonly Fact[]
  readonly run: {
    readonly cluster: string
    readonly command: string
    readonly status?: number
    readonly prints?: string
    readonly within?: string
  }
}

interface Within {
  readonly within?: string
}

export interface ExpectationValues {
  readonly rto: { readonly 'at-most'?: string; readonly 'at-least'?: string; readonly client?: ClientKind }
  readonly rpo: { readonly 'writes-lost': Count; readonly client?: ClientKind }
  readonly tokens: { readonly survived: 'all' | 'none' | number }
  readonly writes: {
    readonly 'accepted-by'?: string
    readonly on: string
    readonly lost: Count
    readonly 'at-least'?: number
  }
  readonly refusals: { readonly count: Count; readonly containing?: string; readonly cluster?: string }
  readonly roots: { readonly equal: readonly string[]; readonly kind?: Kind; readonly differ?: boolean } & Within
  readonly values: {
    readonly path: string
    readonly on: Clusters
    readonly is?: unknown
    readonly differ?: boolean
  } & Within
  readonly absent: { readonly path: string; readonly on: Clusters } & Within
  readonly 'known-secondaries': {
    readonly cluster: string
    readonly kind: Kind
    readonly are: readonly string[]
  } & Within
  readonly primaries: { readonly kind: Kind; readonly are: readonly string[] } & Within
  readonly status: { readonly cluster: string; readonly kind: Kind; readonly is: unknown } & Within
  readonly health: { readonly cluster: Clusters; readonly is: number } & Within
  readonly lag: {
    readonly primary: string
    readonly secondary: string
    readonly kind: Kind
    readonly entries: Count
  } & Within
  readonly metrics: {
    readonly cluster: string
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly is?: unknown
    readonly absent?: boolean
  } & Within
  readonly losses: { readonly cluster: string; readonly entries: Count; readonly path?: string } & Within
  readonly call: CallValue
}

export const listOf = (clusters: Clusters): readonly string[] => (typeof clusters === 'string' ? [clusters] : clusters)
