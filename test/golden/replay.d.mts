/** What the tests use of the replay program. */

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: unknown
}

export interface Step {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly expect: unknown
  readonly capture?: Readonly<Record<string, string>>
}

export interface Flow {
  readonly name: string
  readonly about: string
  readonly server?: 'fresh'
  readonly steps: readonly Step[]
  readonly cleanup?: readonly string[]
}

export type Vars = Record<string, unknown>

/** A value is needed that no earlier step has yielded. */
export class Missing extends Error {}

export const readFlows: (directory: string, parse: (text: string) => unknown) => Flow[]
/** `taken` contains further variables of a flow. */
export const startVars: (options: { address: string; token: string; taken?: Vars }) => Vars
export const fill: (value: unknown, vars: Vars) => unknown
export const pick: (answer: Answer, where: string) => unknown
/** Differences, as texts; none when the answer is as expected. */
export const compare: (expect: unknown, answer: Answer, flavor: string) => string[]
export const perform: (
  step: Step,
  vars: Vars,
  address: string,
  options: object,
  accept: (answer: Answer) => string[],
) => Promise<{ answer: Answer; found: string[] }>
export const cleanUp: (flow: Flow, vars: Vars, address: string, options: object) => Promise<void>

export interface WireRequest {
  readonly method: string
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
}

/** One request on one raw connection. */
export const send: (address: string, request: WireRequest) => Promise<Answer>
