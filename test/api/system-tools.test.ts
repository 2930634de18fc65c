import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { as, authOf, dataOf, DENIED, refusalOf } from '../support/wire.js'

/** The tools of sys/tools, as clients call them. */
let server: OpenServerProcess
let root: ReturnType<typeof as>

beforeAll(async () => {
  server = await startOpenServerProcess()
  root = as(server.address, server.rootToken)
})
afterAll(() => server?.[Symbol.asyncDispose]())

const input = Buffer.from('hello vault').toString('base64')

it('sys/tools/random returns the requested number of bytes, by body or by path', async () => {
  const random = async (path: string, body: object) => String(dataOf(await root('POST', path, body)).random_bytes)
  expect(Buffer.from(await random('sys/tools/random', {}), 'base64')).toHaveLength(32)
  expect(await random('sys/tools/random/5', { format: 'hex' })).toMatch(/^[0-9a-f]{10}$/)
  expect(await random('sys/tools/random/all/6', { format: 'hex' })).toMatch(/^[0-9a-f]{12}$/)
  expect(await random('sys/tools/random/platform', { bytes: 7, format: 'hex' })).toMatch(/^[0-9a-f]{14}$/)
})

it('random bytes of the seal come from the platform, with a warning', async () => {
  const answer = await root('POST', 'sys/tools/random/seal/5', { format: 'hex' })
  expect(dataOf(answer).random_bytes).toMatch(/^[0-9a-f]{10}$/)
  expect(answer.json?.warnings).toEqual(['no seal/entropy augmentation available, using platform entropy source'])
})

it('sys/tools/random rejects sizes, sources and formats that it does not support', async () => {
  const refused = async (path: string, body: object) => refusalOf(await root('POST', `sys/tools/${path}`, body))
  expect(await refused('random', { bytes: 0 })).toEqual([400, ['"bytes" cannot be less than 1']])
  expect(await refused('random', { bytes: 131_073 })).toEqual([400, ['"bytes" should be less than 131072']])
  expect(await refused('random', { source: 'moon' })).toEqual([
    400,
    ['unsupported entropy source "moon"; must be "platform" or "seal", or "all"'],
  ])
  expect(await refused('random', { format: 'raw' })).toEqual([
    400,
    ['unsupported encoding format "raw"; must be "hex" or "base64"'],
  ])
})

it('sys/tools/hash computes a hash, and every token may call it', async () => {
  const sum = (hash: string, form: 'hex' | 'base64') => ({ sum: createHash(hash).update('hello vault').digest(form) })
  const made = authOf(await root('POST', 'auth/token/create', { policies: ['default'] }))
  const weak = as(server.address, String(made.client_token))
  expect(dataOf(await weak('POST', 'sys/tools/hash', { input }))).toEqual(sum('sha256', 'hex'))
  expect(dataOf(await weak('PUT', 'sys/tools/hash/sha2-512', { input, format: 'base64' }))).toEqual(
    sum('sha512', 'base64'),
  )
  expect(refusalOf(await weak('POST', 'sys/tools/random'))).toEqual([403, [DENIED]])
  expect(refusalOf(await root('POST', 'sys/tools/hash/md5', { input }))).toEqual([400, ['unsupported algorithm md5']])
})
