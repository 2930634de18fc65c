import path from 'node:path'
import { expect, it } from 'vitest'
import { startLab } from '../../src/index.js'
import { flowsIn, playFlow } from '../golden/play.js'
import { PostgresProcess } from '../support/postgres.js'

/** Recorded flows that require a PostgreSQL server, whose address is the variable `postgres`. */

const ONE = { name: 'one', about: 'one cluster', clusters: ['A'], links: [] } as const

for (const flow of flowsIn(path.join(import.meta.dirname, 'flows'))) {
  it(`${flow.name}: ${flow.about}`, async () => {
    const postgres = await PostgresProcess.start()
    await using lab = await startLab(ONE)
    const { address, rootToken: token } = lab.A
    const server = { address, token, taken: { postgres: `127.0.0.1:${postgres.port}` } }
    expect(await playFlow(flow, server, [])).toEqual([])
  })
}
