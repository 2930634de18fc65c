import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { ApiClient } from '../../../src/client/api-client.js'
import { wireClusters } from '../../../src/lab/attach/wiring.js'
import { statusOf } from '../../../src/lab/requests/replication.js'
import { requireTopology } from '../../../src/lab/topology/catalogue.js'
import { joinClusters } from '../../../src/lab/wiring/join.js'
import { type MemoryNode, startLoneNode, startMemoryNodes } from '../../support/memory-nodes.js'
import type { TestNodes } from '../../support/nodes.js'

const accessOf = (name: string, nodes: TestNodes<MemoryNode>, first: MemoryNode) => ({
  ...{ name, apiAddress: first.address, rootToken: nodes.rootToken, unsealKeys: nodes.keys, threshold: 2 },
  ...(nodes.all.length > 1 && { nodes: nodes.all.map((node) => ({ name: node.name, apiAddress: node.address })) }),
})

it.each(['dr', 'performance'] as const)(
  'a cluster of several nodes becomes a %s secondary through its active node, even if the first node is sealed',
  async (kind) => {
    const settings = { lab_api: 'true', heartbeat_interval: '100ms' }
    const primary = await startLoneNode('A', { settings })
    await primary.open()
    const secondary = await startMemoryNodes(['B1', 'B2'], { settings })
    await secondary.open()
    const active = await secondary.active()
    const [sealed] = secondary.without(active)
    const [a] = primary.all
    if (!a || !sealed) throw new Error('no nodes')
    await secondary.clientOf(sealed).call('PUT', 'sys/seal')
    const joined = await joinClusters(
      [accessOf('A', primary, a), accessOf('B', secondary, sealed)],
      [{ kind, primary: 'A', secondary: 'B' }],
      { timeoutMs: 20_000, clock: systemClock },
    )
    expect((await statusOf(active.anonymous, kind)).state).toBe('stream-wals')
    expect(joined.map(({ rootToken }) => rootToken !== '')).toEqual([true, kind === 'performance'])
  },
)

/** Returns the address of a proxy that resets the connection of the first request for the seal status. */
const behindRestart = async (address: string): Promise<string> => {
  let isRestarting = true
  const proxy = http.createServer((request, response) => {
    if (isRestarting && request.url === '/v1/sys/seal-status') {
      isRestarting = false
      request.socket.destroy()
      return
    }
    const { method, headers, url = '' } = request
    const forwarded = http.request(address + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    })
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

it('a repeated wiring unseals a server that restarts at the same time', async () => {
  const nodes = await startLoneNode('A')
  await nodes.open()
  const [server] = nodes.all
  if (!server) throw new Error('no server')
  await nodes.clientOf(server).write('sys/seal')
  const apiAddress = await behindRestart(server.address)
  const known = { topology: 'single', joined: [], clusters: [accessOf('A', nodes, server)] }
  await wireClusters(requireTopology('single'), new Map([['A', apiAddress]]), known, {
    ...{ shares: 1, threshold: 1, timeoutMs: 20_000, clock: systemClock },
    onKeep: () => undefined,
  })
  expect(await new ApiClient({ address: apiAddress }).read('sys/seal-status')).toMatchObject({ sealed: false })
})
