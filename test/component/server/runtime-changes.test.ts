import { expect, onTestFinished, test } from 'vitest'
import type { Server } from '../../../src/server/server.js'
import { copyRest } from '../../../src/storage/generations/live-copy.js'
import { sourceWith, startOpenServer } from '../../support/memory-server.js'
import { until } from '../../support/until.js'

/** Starts an unsealed server. `onOpen` is called whenever a runtime opens its data. */
const startServer = async (onOpen: (server: Server) => void = () => undefined): Promise<Server> => {
  let started: Server | undefined
  const data = sourceWith((source) => ({
    get engine() {
      if (started) onOpen(started)
      return source.engine
    },
  }))
  const { server } = await startOpenServer({ data })
  onTestFinished(() => server.close(0))
  started = server
  return server
}

const isOpen = ({ runtime, status }: Server): boolean =>
  !status.isRestarting && runtime !== undefined && !runtime.seal.isSealed

test('a runtime that fails to open is opened again', async () => {
  let failing = 2
  const server = await startServer(() => {
    if (failing-- > 0) throw new Error('no space left on device')
  })
  server.host.restart('a test')
  await until(() => failing < 0 && isOpen(server))
})

test('a server can be closed while its runtime fails to open', async () => {
  let attempts = 0
  const server = await startServer(() => {
    attempts++
    throw new Error('no space left on device')
  })
  server.host.restart('a test')
  await until(() => attempts > 0)
  await server.close(0)
})

test('two role changes run one after another, and the server reports a restart during both', async () => {
  const seen: boolean[] = []
  const server = await startServer(({ status }) => seen.push(status.isRestarting))
  server.host.restart('one')
  server.host.restart('two')
  await until(() => seen.length === 2 && isOpen(server))
  expect(seen).toEqual([true, true])
})

test('a restart can be requested while a runtime is replaced', async () => {
  let opened = 0
  const server = await startServer((changing) => {
    if (opened++ === 0) changing.host.restart('once more')
  })
  server.host.restart('a test')
  await until(() => opened === 2 && isOpen(server))
})

test('a cluster that is sealed before a restart stays sealed', async () => {
  let opened = 0
  const server = await startServer(() => opened++)
  server.host.restart('one')
  await server.runtime?.seal.seal()
  await until(() => opened === 1 && !server.status.isRestarting)
  expect(server.runtime?.seal.isSealed).toBe(true)
})

test('the number of encryptions is kept across a restart', async () => {
  const server = await startServer()
  const before = server.runtime?.barrier.encryptions ?? 0
  expect(before).toBeGreaterThan(0)
  const barrier = server.runtime?.barrier
  server.host.restart('a test')
  await until(() => isOpen(server) && server.runtime?.barrier !== barrier)
  expect(server.runtime?.barrier.encryptions).toBeGreaterThanOrEqual(before)
})

test('a server that is sealed while its data is replaced is sealed afterwards', async () => {
  const server = await startServer()
  const { host } = server
  let sealing: Promise<void> | undefined
  const { runtime } = host
  await host.replaceData('a test', {
    rootKeyAfter: (rootKey) => rootKey,
    prepare: async (fresh, old) => {
      // A seal request that arrived earlier.
      sealing = runtime?.seal.seal()
      await copyRest(old, fresh, () => false)
    },
  })
  await sealing
  await host.settled()
  expect(host.runtime).not.toBe(runtime)
  expect(host.runtime?.seal).toMatchObject({ isInitialized: true, isSealed: true })
})
