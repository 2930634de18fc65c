import { fileURLToPath } from 'node:url'
import {
  loadPackageDefinition,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { createSystemRandom } from '../../../src/base/random.js'
import { EtcdConnection } from '../../../src/storage/shared-log/etcd/etcd-connection.js'

const TIMEOUT_MS = 200

/** An etcd member that needs this time for each read, in milliseconds. It sends no response to a client with less time. */
const startSlowMember = async (neededMs: number) => {
  const { etcdserverpb } = loadPackageDefinition(
    loadSync(fileURLToPath(new URL('../../../proto/etcd.proto', import.meta.url)), { keepCase: true }),
  ) as unknown as { etcdserverpb: { KV: { service: ServiceDefinition } } }
  const server = new Server()
  server.addService(etcdserverpb.KV.service, {
    Range: (call: ServerUnaryCall<unknown, unknown>, respond: sendUnaryData<unknown>) => {
      if (Number(call.getDeadline()) - Date.now() >= neededMs) respond(null, { header: { revision: 7 }, kvs: [] })
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    )
  })
  return { address: `127.0.0.1:${port}`, [Symbol.dispose]: () => server.forceShutdown() }
}

it('a request receives its response from an overloaded etcd that needs longer than the request timeout', async () => {
  using member = await startSlowMember(2 * TIMEOUT_MS)
  const addresses = [member.address]
  const options = { clock: systemClock, random: createSystemRandom(), addresses, requestTimeoutMs: TIMEOUT_MS }
  const connection = new EtcdConnection(options)
  const { header } = await connection.ask('Range', { key: Buffer.from('key') })
  expect(header.revision).toBe('7')
  connection.close()
})
