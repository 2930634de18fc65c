import type { ClusterAccess } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { REPLICATION } from '../requests/replication.js'
import type { ProcedureStep } from './procedure-steps.js'

/** A runbook of an operation as data: numbered steps, and the origin of each value. It contains no secrets. */

export const OPERATIONS = ['failover', 'switchover', 'failback', 'rejoin', 'activate'] as const
export type OperationName = (typeof OPERATIONS)[number]

/** A step with its number, and the origins of the shell variables that its command uses. */
export interface WrittenStep extends ProcedureStep {
  readonly number: number
  readonly needs: readonly { readonly name: string; readonly from: string }[]
  /** The shell variables that the command sets. */
  readonly makes: readonly string[]
}

export interface WrittenRunbook {
  readonly apiVersion: 'understudy/v1'
  readonly kind: 'Runbook'
  readonly operation: OperationName
  readonly replication: Kind
  readonly title: string
  readonly clusters: readonly Readonly<
    Record<'name' | 'apiAddress' | 'clusterAddress' | 'caFile' | 'namespace', string>
  >[]
  /** The values that the operator must provide, because no step sets them. */
  readonly values: readonly { readonly name: string; readonly about: string }[]
  readonly steps: readonly WrittenStep[]
  /** Tasks of the operator after the last step. */
  readonly after: readonly string[]
}

/** The shell variable with a key share. Each key holder enters a share in turn. */
export const SHARE = 'KEY_SHARE'

/** The origin of values that the operator provides, in texts. */
export const EXTERNAL = 'the table of values'

/** Numbers the steps, and finds the step that sets each shell variable. */
export const numberSteps = (steps: readonly ProcedureStep[]): readonly WrittenStep[] => {
  const makers = new Map<string, string>()
  return steps.map((step, at) => {
    const needs = variablesIn(step.command).map((name) => ({ name, from: makers.get(name) ?? originOf(name) }))
    const makes = /(?:^| && )([A-Z_]+)="\$\(/.exec(step.command)?.slice(1) ?? []
    for (const name of makes) makers.set(name, `step ${at + 1}`)
    return { number: at + 1, ...step, needs, makes }
  })
}

const originOf = (name: string): string => (name === SHARE ? 'the next key holder' : EXTERNAL)

/** The start of the text of a value that no step needs. A DR secondary issues no tokens, so it may not exist yet. */
const BACK_ONLY = 'only to go back, when the cluster is a primary (a DR secondary issues no tokens)'

const variablesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(/"\$([A-Z][A-Z0-9_]*)/g)].map(([, name = '']) => name)),
]

/** Returns the values that the operator must provide for the steps, or to go back. */
export const valuesOf = (
  steps: readonly WrittenStep[],
  clusters: readonly ClusterAccess[],
): WrittenRunbook['values'] => {
  const made = new Set(steps.flatMap(({ makes }) => makes))
  const commands = steps.map(({ command }) => command)
  const needed = new Set(variablesIn(commands.join('\n')))
  const back = steps.map(({ backCommand = '' }) => backCommand)
  const wanted = variablesIn([...commands, ...back].join('\n')).filter((name) => !made.has(name))
  return wanted.map((name) => {
    const cluster = clusters.find(({ written }) => written?.tokenVariable === name)?.name
    const share = 'a key share of the replication set, or a recovery key with auto-unseal; each key holder enters one'
    const token = `a token that is valid on ${cluster}, with the capabilities update and sudo on ${REPLICATION}/*`
    const about = cluster === undefined ? share : token
    return { name, about: needed.has(name) ? about : `${BACK_ONLY}: ${about}` }
  })
}
