import { chmodSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { attachLab, clusterOf } from '../../../../src/lab/attach/attach.js'
import { workOnServers } from '../../../../src/lab/lifecycle/servers.js'
import { thisHost } from '../../../../src/lab/processes/lab-host.js'
import { LabHome } from '../../../support/lab-home.js'

afterEach(() => void vi.unstubAllEnvs())

/** A node that rejects the first requests to unseal it, as a node does until it has the data of its cluster. */
const startNode = async (rejections: readonly string[]) => {
  const pending = [...rejections]
  let isSealed = true
  const unseal = () => {
    const rejection = pending.shift()
    if (rejection !== undefined) return [503, { errors: [rejection] }] as const
    isSealed = false
    return [200, { sealed: false }] as const
  }
  const answer = (method: string, url: string, body: string) => {
    if (url.endsWith('/info')) return [200, { node: { state: isSealed ? 'sealed' : 'standby' } }] as const
    if (method === 'GET') return [200, { initialized: true, sealed: isSealed }] as const
    return body.includes('reset') ? ([200, { sealed: isSealed }] as const) : unseal()
  }
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const [status, json] = answer(request.method ?? '', request.url ?? '', body)
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(json))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    apiAddress: `http://127.0.0.1:${port}`,
    isSealed: () => isSealed,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('start unseals a container of a cluster of nodes as soon as the node has the data of its cluster', async () => {
  await using home = new LabHome()
  await using node = await startNode([
    'too few nodes of the cluster are running: this node cannot be unsealed yet',
    'cluster is restarting after a replication change, try again',
  ])
  writeFileSync(path.join(home.directory, 'docker'), '#!/bin/sh\n')
  chmodSync(path.join(home.directory, 'docker'), 0o755)
  vi.stubEnv('XDG_STATE_HOME', home.directory)
  vi.stubEnv('PATH', `${home.directory}:${process.env.PATH}`)
  const host = thisHost()
  const nodes = ['A1', 'A2', 'A3'].map((name) => ({ name, apiAddress: node.apiAddress, container: name }))
  const clusters = [clusterOf('A', nodes, { unsealKeys: ['a share'], threshold: 1 })]
  await attachLab({ name: 'boxes', clusters, onWarning: () => undefined }, host)
  const lines: string[] = []
  const options = { timeoutMs: 30_000, onProgress: (line: string) => void lines.push(line) }
  await workOnServers('boxes', 'start', ['A1'], options, host)
  expect([node.isSealed(), lines]).toEqual([false, [`node A1 is ready at ${node.apiAddress}`]])
})
