import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { createTransitType } from '../../../src/secrets/transit/backend.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

/** Signatures of hashes, checked with OpenSSL in both directions. */
let transit: BackendHarness
let directory: string
beforeEach(() => {
  transit = new BackendHarness(createTransitType().factory)
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

const post = async (target: string, body: JsonObject = {}) =>
  dataOf(await transit.write(target, body)) as Record<string, unknown>
const keyOf = async (type: string) => {
  const { keys } = dataOf(await transit.read(`export/${type}/a`)) as { keys: Record<string, string> }
  return String(keys[1])
}

const digestOf = (hash: string, text = 'message') => createHash(hash).update(text).digest()
const encoded = (bytes: Buffer) => bytes.toString('base64')
const save = (name: string, content: string | Buffer) => {
  const file = path.join(directory, name)
  writeFileSync(file, content)
  return file
}

const openssl = (verb: '-sign' | '-verify', args: readonly string[]): Buffer =>
  execFileSync('openssl', ['pkeyutl', verb, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })

interface Case {
  readonly type: string
  readonly hash: string
  readonly body: JsonObject
  readonly options: readonly string[]
}

const pss = (hash: string, saltLength: string) => [
  ...['-pkeyopt', `digest:${hash}`, '-pkeyopt', 'rsa_padding_mode:pss', '-pkeyopt', `rsa_pss_saltlen:${saltLength}`],
]

const CASES: readonly Case[] = [
  { type: 'ecdsa-p256', hash: 'sha256', body: {}, options: [] },
  { type: 'ecdsa-p384', hash: 'sha384', body: {}, options: [] },
  { type: 'ecdsa-p521', hash: 'sha512', body: {}, options: [] },
  { type: 'ecdsa-p256', hash: 'sha512', body: {}, options: [] },
  { type: 'rsa-2048', hash: 'sha256', body: {}, options: pss('sha256', 'auto') },
  { type: 'rsa-3072', hash: 'sha512', body: { salt_length: 'hash' }, options: pss('sha512', 'digest') },
  { type: 'rsa-2048', hash: 'sha384', body: { salt_length: '20' }, options: pss('sha384', '20') },
  {
    type: 'rsa-2048',
    hash: 'sha256',
    body: { signature_algorithm: 'pkcs1v15' },
    options: ['-pkeyopt', 'digest:sha256'],
  },
  {
    type: 'rsa-2048',
    hash: 'sha256',
    body: { signature_algorithm: 'pkcs1v15', hash_algorithm: 'none' },
    options: [],
  },
]

describe('transit signatures of a hash', () => {
  it.each(CASES)(
    '$type with $hash and $body signs and verifies like OpenSSL',
    async ({ type, hash, body, options }) => {
      await post('keys/a', { type, exportable: true })
      const digest = digestOf(hash)
      const request = { hash_algorithm: hash.replace('sha', 'sha2-'), ...body, prehashed: true }
      const own = String((await post('sign/a', { ...request, input: encoded(digest) })).signature)
      const files = {
        digest: save('digest', digest),
        signature: save('signature', Buffer.from(own.split(':')[2] ?? '', 'base64')),
        publicKey: save('public.pem', `${await keyOf('public-key')}\n`),
        privateKey: save('private.pem', `${await keyOf('signing-key')}\n`),
      }
      const verified = [
        '-pubin',
        '-inkey',
        files.publicKey,
        '-in',
        files.digest,
        '-sigfile',
        files.signature,
        ...options,
      ]
      expect(openssl('-verify', verified).toString()).toContain('Signature Verified Successfully')
      const signing = options.map((option) => option.replace('saltlen:auto', 'saltlen:max'))
      const other = openssl('-sign', ['-inkey', files.privateKey, '-in', files.digest, ...signing])
      for (const signature of [own, `vault:v1:${encoded(other)}`]) {
        const isValid = async (input: Buffer) =>
          (await post('verify/a', { ...request, input: encoded(input), signature })).valid
        expect(await isValid(digest)).toBe(true)
        expect(await isValid(digestOf(hash, 'massage'))).toBe(false)
      }
    },
  )

  it('an ECDSA signature of a hash is a signature of the data', async () => {
    await post('keys/a', { type: 'ecdsa-p256' })
    const [input, digest] = [encoded(Buffer.from('message')), encoded(digestOf('sha256'))]
    for (const marshaling_algorithm of ['asn1', 'jws']) {
      const ofData = String((await post('sign/a', { input, marshaling_algorithm })).signature)
      const ofHash = String((await post('sign/a', { input: digest, prehashed: true, marshaling_algorithm })).signature)
      const valid = { valid: true }
      expect(await post('verify/a', { input, signature: ofHash, marshaling_algorithm })).toEqual(valid)
      const hashed = { input: digest, prehashed: true, signature: ofData, marshaling_algorithm }
      expect(await post('verify/a', hashed)).toEqual(valid)
    }
  })

  it('a batch signs hashes, and a hash of a wrong length fails alone', async () => {
    await post('keys/a', { type: 'rsa-2048' })
    const batch_input = [{ input: encoded(digestOf('sha256')) }, { input: encoded(Buffer.from('short')) }]
    const { batch_results } = await post('sign/a', { prehashed: true, batch_input })
    expect(batch_results).toEqual([
      expect.objectContaining({ signature: expect.stringMatching(/^vault:v1:/) }),
      expect.objectContaining({ error: 'the key cannot sign this input with these parameters' }),
    ])
    const [{ signature }] = batch_results as [{ signature: string }]
    const again = [
      { ...batch_input[0], signature },
      { ...batch_input[1], signature },
    ]
    expect((await post('verify/a', { prehashed: true, batch_input: again })).batch_results).toEqual([
      expect.objectContaining({ valid: true }),
      expect.objectContaining({ valid: false }),
    ])
  })

  it('sign rejects hashes for Ed25519 keys, and a salt that does not fit', async () => {
    const input = encoded(digestOf('sha256'))
    await post('keys/a', { type: 'ed25519' })
    expect((await refusal(transit.write('sign/a', { input, prehashed: true })))[1]).toBe(
      'prehashed input is not supported for keys of type ed25519',
    )
    await post('keys/b', { type: 'rsa-2048' })
    const long = { input, prehashed: true, salt_length: '250' }
    expect((await refusal(transit.write('sign/b', long)))[1]).toMatch(/^the key cannot sign this input/)
  })
})
