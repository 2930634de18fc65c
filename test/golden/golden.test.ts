import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess, startServerProcess } from '../support/server-process.js'
import { PENDING } from './pending.js'
import { allFlows, playFlow, unknownSteps } from './play.js'

/** Recorded flows, step by step, against the compiled program with LevelDB underneath. */

describe('recorded flows', () => {
  let server: OpenServerProcess

  beforeAll(async () => {
    server = await startOpenServerProcess()
  })

  afterAll(async () => {
    console.log(`golden: ${PENDING.length} of ${allFlows.flatMap(({ steps }) => steps).length} steps are pending`)
    await server?.[Symbol.asyncDispose]()
  })

  for (const flow of allFlows.filter((candidate) => candidate.server !== 'fresh')) {
    it(`${flow.name}: ${flow.about}`, async () => {
      const { address, rootToken: token } = server
      expect(await playFlow(flow, { address, token }, PENDING)).toEqual([])
    })
  }

  for (const flow of allFlows.filter((candidate) => candidate.server === 'fresh')) {
    it(`${flow.name}, on a new server: ${flow.about}`, async () => {
      await using fresh = await startServerProcess()
      expect(await playFlow(flow, { address: fresh.address, token: '' }, PENDING)).toEqual([])
    })
  }

  it('knows every pending step', () => {
    expect(unknownSteps(PENDING)).toEqual([])
  })
})
