import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type OpenServerProcess, startOpenServerProcess, startServerProcess } from '../support/server-process.js'
import { PENDING, type Pending } from './pending.js'
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

/** Recorded flows, step by step, against the compiled program with LevelDB underneath. */

const FLAVOR = 'understudy'
const flows = readFlows(path.join(import.meta.dirname, 'flows'), parse)

const pendingOf = (flow: Flow, number: number): Pending | undefined =>
  PENDING.find((entry) => entry.flow === flow.name && entry.step === number)

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

/** Plays a flow to its end, so that one report names everything that differs. */
const playFlow = async (flow: Flow, address: string, token: string): Promise<string[]> => {
  const vars = startVars({ address, token })
  const complaints: string[] = []
  for (const [index, step] of flow.steps.entries()) {
    const found = await play(step, vars, address)
    const pending = pendingOf(flow, index + 1)
    const label = `#${index + 1} ${step.name} (${step.method} ${step.path})`
    if (pending && found.length === 0) complaints.push(`${label}: passes, and is still in the table of pending steps`)
    if (!pending && found.length > 0) complaints.push(`${label}: ${shorten(found)}`)
  }
  await cleanUp(flow, vars, address, {})
  return complaints
}

describe('recorded flows', () => {
  let server: OpenServerProcess

  beforeAll(async () => {
    server = await startOpenServerProcess()
  })

  afterAll(async () => {
    console.log(`golden: ${PENDING.length} of ${flows.flatMap(({ steps }) => steps).length} steps are pending`)
    await server?.[Symbol.asyncDispose]()
  })

  for (const flow of flows.filter((candidate) => candidate.server !== 'fresh')) {
    it(`${flow.name}: ${flow.about}`, async () => {
      expect(await playFlow(flow, server.address, server.rootToken)).toEqual([])
    })
  }

  for (const flow of flows.filter((candidate) => candidate.server === 'fresh')) {
    it(`${flow.name}, on a new server: ${flow.about}`, async () => {
      await using fresh = await startServerProcess()
      expect(await playFlow(flow, fresh.address, '')).toEqual([])
    })
  }

  it('knows every pending step', () => {
    const known = new Set(
      flows.flatMap((flow) => flow.steps.map((step, index) => `${flow.name} #${index + 1} ${step.name}`)),
    )
    expect(
      PENDING.map(({ flow, step, name }) => `${flow} #${step} ${name}`).filter((label) => !known.has(label)),
    ).toEqual([])
  })
})
