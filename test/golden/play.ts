import path from 'node:path'
import { parse } from 'yaml'
import type { Pending } from './pending.js'
import {
  cleanUp,
  compare,
  type Flow,
  fill,
  Missing,
  perform,
  pick,
  readFlows,
  type Step,
  startVars,
  type Vars,
} from './replay.mjs'

/** Plays recorded flows against a server and says how its answers differ. */

const FLAVOR = 'understudy'

export const flowsIn = (directory: string): readonly Flow[] => readFlows(directory, parse)

/** Every recorded flow, by name. */
export const allFlows = flowsIn(path.join(import.meta.dirname, 'flows'))

/** Plays one step and remembers what it yields; returns how its answer differs. */
const play = async (step: Step, vars: Vars, address: string): Promise<string[]> => {
  try {
    const { answer, found } = await perform(step, vars, address, {}, (seen) =>
      compare(fill(step.expect, vars), seen, FLAVOR),
    )
    for (const [name, where] of Object.entries(step.capture ?? {})) {
      const value = pick(answer, where) ?? undefined
      if (value === undefined) delete vars[name]
      else vars[name] = value
      if (value === undefined && found.length === 0) found.push(`${where}: nothing to capture`)
    }
    return found
  } catch (error) {
    for (const name of Object.keys(step.capture ?? {})) delete vars[name]
    return [error instanceof Missing ? error.message : String(error)]
  }
}

const shorten = (found: readonly string[]): string =>
  [...found.slice(0, 4), ...(found.length > 4 ? [`and ${found.length - 4} more`] : [])].join('; ')

/** Plays a flow to its end, so that one report names everything that differs and is not in the table of pending steps. */
export const playFlow = async (
  flow: Flow,
  server: { readonly address: string; readonly token: string; readonly taken?: Vars },
  pending: readonly Pending[],
): Promise<string[]> => {
  const vars = startVars(server)
  const complaints: string[] = []
  for (const [index, step] of flow.steps.entries()) {
    const found = await play(step, vars, server.address)
    const isPending = pending.some((entry) => entry.flow === flow.name && entry.step === index + 1)
    const label = `#${index + 1} ${step.name} (${step.method} ${step.path})`
    if (isPending && found.length === 0) complaints.push(`${label}: passes, and is still in the table of pending steps`)
    if (!isPending && found.length > 0) complaints.push(`${label}: ${shorten(found)}`)
  }
  await cleanUp(flow, vars, server.address, {})
  return complaints
}

/** Entries of a table of pending steps that name no step: none, when the table is true. */
export const unknownSteps = (pending: readonly Pending[]): string[] => {
  const known = new Set(
    allFlows.flatMap((flow) => flow.steps.map((step, index) => `${flow.name} #${index + 1} ${step.name}`)),
  )
  return pending.map(({ flow, step, name }) => `${flow} #${step} ${name}`).filter((label) => !known.has(label))
}
