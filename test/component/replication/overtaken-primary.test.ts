import { expect, test } from 'vitest'
import {
  type ControlCluster,
  FORWARDED_KEY,
  joinSet,
  openWorld,
  promoteDr,
  refusalOf,
  untilStreaming,
} from '../../support/control-cluster.js'
import { makeRequest } from '../../support/backend-harness.js'
import { until } from '../../support/until.js'

/** A replaced primary that keeps running: its secondaries leave it, and writes forwarded to it are not acknowledged. */

const world = openWorld()

const write = (cluster: ControlCluster, value = 'forwarded') =>
  cluster.replication.forwarder.forward(makeRequest('update', 'secret/a', { value }))

/** Runs `work` between the execution of a forwarded write on this cluster and its response. */
const beforeAnswer = ({ cluster: { pipeline } }: ControlCluster, work: () => Promise<void>) => {
  const handle = pipeline.handleForwarded.bind(pipeline)
  pipeline.handleForwarded = async (request) => {
    const response = await handle(request)
    await work()
    return response
  }
}

const untilOver = async (secondary: ControlCluster, primary: ControlCluster) => {
  const address = `https://${primary.listener.address}`
  await until(() => secondary.status('performance').primary_cluster_addr === address)
  await untilStreaming(secondary, 'performance', primary)
}

/** Starts a primary of both kinds, its DR copy, and a performance secondary. */
const topology = async (settings?: { readonly fence_client_writes: boolean }) => {
  const a = await world.start('a', settings)
  const b = await world.start('b')
  const c = await world.start('c')
  await a.change('replication/performance/primary/enable')
  await a.change('replication/dr/primary/enable')
  await joinSet(b, 'dr', a, 'b')
  await joinSet(c, 'performance', a, 'c')
  await until(() => (c.status('performance').known_primary_cluster_addrs as string[]).length === 2)
  return { a, b, c }
}

test('secondaries of an overtaken primary follow its successor by themselves', async () => {
  const { a, b, c } = await topology()
  await promoteDr(b)
  await until(() => a.replication.view.fence !== undefined)
  await untilOver(c, b)
  await write(c)
  expect(b.readValue(FORWARDED_KEY)).toContain('forwarded')
})

test('an overtaken primary disconnects its secondaries and names its successor', async () => {
  const { a, b, c } = await topology()
  c.network.down()
  await promoteDr(b)
  await until(() => a.replication.view.fence !== undefined)
  expect(a.replication.view.fence).toMatchObject({ by: { clusterId: b.clusterId } })
  const admission = a.replication.context.running.performance.primary
  expect(admission?.registry.views().every((view) => !view.isConnected)).toBe(true)
  expect(await refusalOf(write(c))).toContain('primary cluster is unreachable')
})

test('a write executed by an overtaken primary before its fence is not acknowledged', async () => {
  const { a, b, c } = await topology()
  b.network.down()
  beforeAnswer(a, async () => {
    await promoteDr(b)
    b.network.isDown = false
    await until(() => a.replication.view.fence !== undefined)
  })
  const text = await refusalOf(write(c, 'lost'))
  expect(text).toMatch(/outcome unknown|unreachable/)
  expect(a.readValue(FORWARDED_KEY)).toContain('lost')
  await untilOver(c, b)
  expect(c.readValue(FORWARDED_KEY)).toBeUndefined()
})

test('a write is not acknowledged if its secondary knows the newer epoch and the primary does not', async () => {
  const { a, b, c } = await topology()
  b.network.down()
  await promoteDr(b)
  const { follower } = c.replication.context.running.performance
  beforeAnswer(a, async () => {
    await follower?.updateAddresses([b.listener.address])
    await until(() => c.status('performance').primary_cluster_addr === `https://${b.listener.address}`)
  })
  expect(a.replication.view.fence).toBeUndefined()
  expect(await refusalOf(write(c, 'lost'))).toMatch(/outcome unknown/)
  await untilOver(c, b)
})

test.each([true, false])(
  'an overtaken primary rejects client writes as fence_client_writes says: %s',
  async (fences) => {
    const { a, b } = await topology({ fence_client_writes: fences })
    await promoteDr(b)
    await until(() => a.replication.view.fence !== undefined)
    expect(a.replication.view.refusesWrites).toBe(fences)
    await a.restart()
    expect(a.replication.view.refusesWrites).toBe(fences)
  },
)
