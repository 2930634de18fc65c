import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'

/** A write that the primary accepts also works on its secondary, up to the maximum body size. */
const MIB = 1024 * 1024
const LARGEST = 32 * MIB

/** Timeout of a write of this size on a busy machine. */
const PATIENCE_MS = 60_000

const clusters = openClusters()
let A: Cluster
let C: Cluster

beforeAll(async () => {
  // As in production. In labs, a suspended peer is detected within half a second.
  const settings = { keepalive_time: '5s', keepalive_timeout: '5s' }
  A = await clusters.add('A', { settings })
  C = await clusters.add('C', { settings })
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await A.client.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  await clusters.join(A, C, 'performance', 'c')
})

/** Returns a body of exactly this size. */
const bodyOf = (start: string, size: number, unit: string, end: string): Buffer => {
  const room = size - start.length - end.length
  return Buffer.from(start + unit.repeat(Math.floor(room / unit.length)) + 'x'.repeat(room % unit.length) + end)
}

const SHAPES: readonly (readonly [name: string, path: string, make: (size: number) => Buffer])[] = [
  ['plain text', 'kv/large', (size) => bodyOf('{"a":"', size, 'x', '"}')],
  ['base64', 'secret/data/large', (size) => bodyOf('{"data":{"a":"', size, 'QUJD', '"}}')],
  ['escapes', 'secret/data/large', (size) => bodyOf('{"data":{"a":"', size, '\\u0000', '"}}')],
  ['characters that are printed shorter', 'kv/large', (size) => bodyOf('{"a":"', size, '\\u007f', '"}')],
]

it.each(SHAPES)('a write of %s succeeds on the primary and through its secondary', async (_, path, make) => {
  for (const size of [16 * MIB, 24 * MIB, 28 * MIB, LARGEST]) {
    const raw = make(size)
    for (const cluster of [A, C]) {
      const client = cluster.client.with({ timeoutMs: PATIENCE_MS })
      const { status, bytes } = await client.send('PUT', path, { raw })
      // If the write reaches the secondary late, the response has status 200 and a warning.
      expect([200, 204], `${size} bytes: ${status} ${bytes.toString().slice(0, 200)}`).toContain(status)
    }
  }
})

it.each(SHAPES)('a write of %s that is one byte too large is 413 on both', async (_, path, make) => {
  const raw = make(LARGEST + 1)
  for (const cluster of [A, C]) expect((await cluster.client.send('PUT', path, { raw })).status).toBe(413)
})
