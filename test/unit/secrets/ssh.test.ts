import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/logical/json.js'
import { createSshType } from '../../../src/secrets/ssh/backend.js'
import { parsePrivateKey, privateTextOf, publicBlobOf, publicLineOf } from '../../../src/secrets/ssh/keys.js'
import { uint32, WireReader, wireInteger, wireString } from '../../../src/secrets/ssh/wire.js'
import { BackendHarness, dataOf, refusal } from '../../support/backend-harness.js'

const NAMES: Readonly<Record<string, string>> = { '{{identity.entity.name}}': 'alice' }

let ssh: BackendHarness
beforeEach(async () => {
  ssh = new BackendHarness((context) =>
    createSshType().factory({
      ...context,
      resolveTemplate: (text, entityId) =>
        entityId === 'e' ? text.replace(/\{\{.+?\}\}/, (name) => NAMES[name] ?? '') : undefined,
    }),
  )
  await ssh.write('config/ca', { key_type: 'ed25519' })
})

const token = { entityId: 'e', displayName: 'token' } as never
const write = async (path: string, body: JsonObject) => {
  const response = await ssh.call('update', path, body, { token })
  return response && (dataOf(response) as Record<string, string>)
}
const role = (settings: JsonObject) =>
  ssh.write('roles/r', { key_type: 'ca', allow_user_certificates: true, allowed_users: '*', ...settings })
const rejected = async (path: string, body: JsonObject) =>
  (await refusal(ssh.call('update', path, body, { token }))).at(-1)

const { publicKey } = generateKeyPairSync('ed25519')
const sign = (body: JsonObject) => write('sign/r', { public_key: publicLineOf(publicKey), ...body })

/** The parts of a certificate of an Ed25519 key. */
const readCertificate = (line: string | undefined) => {
  const bytes = Buffer.from(line?.split(' ')[1] ?? '', 'base64')
  const reader = new WireReader(bytes)
  const [type, , key] = [reader.string(), reader.string(), reader.string()]
  const serial = reader.take(8).readBigUInt64BE().toString(16)
  const kind = reader.uint32()
  const keyId = reader.string().toString()
  const principals = strings(reader.string())
  const [after, before] = [reader.take(8), reader.take(8)].map((value) => Number(value.readBigUInt64BE()))
  const [critical, extensions] = [strings(reader.string()), strings(reader.string())]
  reader.string()
  const authority = reader.string()
  const signed = bytes.subarray(0, bytes.length - 4 - reader.string().length)
  return {
    type: type.toString(),
    key,
    serial,
    kind,
    keyId,
    principals,
    after,
    before,
    critical,
    extensions,
    authority,
    signed,
    bytes,
  }
}

const strings = (bytes: Buffer): string[] => {
  const reader = new WireReader(bytes)
  const found: string[] = []
  while (!reader.isAtEnd) found.push(reader.string().toString())
  return found
}

describe('certificates', () => {
  it('a certificate contains what the role and the request determine, and the authority signs it', async () => {
    await role({ default_extensions: { 'permit-pty': '', 'a@b': 'c' }, ttl: '1h', not_before_duration: '1m' })
    const signed = await sign({ valid_principals: 'b,a,b', critical_options: { 'force-command': '/bin/true' } })
    const certificate = readCertificate(signed?.signed_key)
    const nowSeconds = ssh.clock.now() / 1000
    expect(certificate).toMatchObject({
      type: 'ssh-ed25519-cert-v01@openssh.com',
      serial: signed?.serial_number,
      kind: 1,
      principals: ['a', 'b'],
      after: nowSeconds - 60,
      before: nowSeconds + 3600,
      critical: ['force-command', '\0\0\0\t/bin/true'],
      extensions: ['a@b', '\0\0\0\x01c', 'permit-pty', ''],
    })
    expect(certificate.key.toString('base64url')).toBe(publicKey.export({ format: 'jwk' }).x)
    const authority = certificate.authority.subarray(-32).toString('base64url')
    const authorityKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: authority }, format: 'jwk' })
    expect(verify(null, certificate.signed, authorityKey, certificate.bytes.subarray(-64))).toBe(true)
  })

  it('identity templates determine principals, extensions and the default user', async () => {
    const template = '{{identity.entity.name}}'
    await role({ allowed_users: `x-${template}`, allowed_users_template: true })
    expect(readCertificate((await sign({ valid_principals: 'x-alice' }))?.signed_key).principals).toEqual(['x-alice'])
    expect(await rejected('sign/r', { public_key: publicLineOf(publicKey), valid_principals: 'x-bob' })).toContain(
      'x-bob',
    )

    const extensions = { 'login@example.com': template }
    const byDefault = { default_user: template, default_user_template: true }
    await role({ ...byDefault, default_extensions: extensions, default_extensions_template: true })
    const certificate = readCertificate((await sign({}))?.signed_key)
    expect([certificate.principals, certificate.extensions.at(-1)]).toEqual([['alice'], '\0\0\0\x05alice'])

    const [, text] = await refusal(ssh.write('sign/r', { public_key: publicLineOf(publicKey) }))
    expect(text).toBe('the template "{{identity.entity.name}}" has no value for this token')
  })

  it('a certificate without principals requires a role that allows it', async () => {
    await role({})
    expect(await rejected('sign/r', { public_key: publicLineOf(publicKey) })).toBe(
      'empty valid principals not allowed by role',
    )
    await role({ allow_empty_principals: true })
    expect(readCertificate((await sign({}))?.signed_key).principals).toEqual([])
  })

  const keyOf = (...fields: (string | Buffer)[]) => Buffer.concat(fields.map(wireString)).toString('base64')
  const point = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)])
  it.each([
    ...['', 'AAAA', 'AAAAB3NzaC1kc3M=', 'AAAAC3NzaC1lZDI1NTE5AAAAIA==', 'ssh-ed25519 ='],
    keyOf('ssh-ed25519', Buffer.alloc(5)),
    keyOf('ssh-rsa', Buffer.of(4), Buffer.alloc(256, 1)),
    keyOf('ecdsa-sha2-nistp256', 'nistp256', point),
    keyOf('ecdsa-sha2-nistp256', 'nistp384', point),
    keyOf('ecdsa-sha2-nistp256', 'nistp256', ''),
  ])('a broken public key is rejected with 400: %j', async (key) => {
    await role({})
    expect(await rejected('sign/r', { public_key: key, valid_principals: 'a' })).toMatch(/public_key/)
  })
})

describe('keys', () => {
  const pairs: [string, KeyObject][] = [
    ['ed25519', generateKeyPairSync('ed25519').privateKey],
    ['rsa', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
    ...['P-256', 'P-384', 'P-521'].map((namedCurve): [string, KeyObject] => [
      namedCurve,
      generateKeyPairSync('ec', { namedCurve }).privateKey,
    ]),
  ]

  it.each(pairs)('a private key is the same after it was written as text and read: %s', (_, key) => {
    const read = parsePrivateKey(privateTextOf(key, Buffer.alloc(4, 7)))
    expect(publicBlobOf(read)).toEqual(publicBlobOf(key))
    expect(read.equals(key)).toBe(true)
  })

  it.each(pairs.filter(([, key]) => key.asymmetricKeyType !== 'ed25519'))(
    'a private key in the format of OpenSSH is read: %s',
    (_, key) => {
      expect(parsePrivateKey(openSshTextOf(key)).equals(key)).toBe(true)
    },
  )

  it('an encrypted private key is rejected with 400', async () => {
    await ssh.call('delete', 'config/ca')
    const text = openSshTextOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, 'aes256-ctr')
    const body = { private_key: text, public_key: publicLineOf(publicKey), generate_signing_key: false }
    expect(await rejected('config/ca', body)).toContain('cannot decode encrypted private keys')
  })

  it.each(['', 'x', '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----'])(
    'a broken private key is rejected with 400: %j',
    async (key) => {
      await ssh.call('delete', 'config/ca')
      const body = { private_key: key, public_key: publicLineOf(publicKey), generate_signing_key: false }
      expect(await rejected('config/ca', body)).toMatch(/private_key/)
    },
  )
})

/** Returns an RSA or elliptic curve key as `ssh-keygen` writes it. */
const openSshTextOf = (key: KeyObject, cipher = 'none'): string => {
  const jwk = key.export({ format: 'jwk' })
  const numbers = (names: readonly (keyof typeof jwk)[]) =>
    names.map((name) => wireInteger(Buffer.from(String(jwk[name]), 'base64url')))
  const blob = publicBlobOf(key)
  const fields =
    jwk.kty === 'RSA' ? [wireString('ssh-rsa'), ...numbers(['n', 'e', 'd', 'qi', 'p', 'q'])] : [blob, ...numbers(['d'])]
  const check = Buffer.alloc(4, 7)
  const secret = Buffer.concat([check, check, ...fields, wireString('comment')])
  const parts = [cipher, 'none', ''].map(wireString)
  const file = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...parts,
    uint32(1),
    wireString(blob),
    wireString(secret),
  ])
  const [label, lines] = [
    'OPENSSH PRIVATE KEY',
    file
      .toString('base64')
      .match(/.{1,70}/g)
      ?.join('\n'),
  ]
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

describe('one-time passwords', () => {
  it('only the hash of a one-time password is stored, outside the replicated data', async () => {
    await ssh.write('roles/r', { key_type: 'otp', default_user: 'u', cidr_list: '10.0.0.0/8' })
    const { key = '' } = (await write('creds/r', { ip: '10.1.1.1' })) ?? {}
    const stored = await ssh.context.localStorage.list('otp/')
    expect(stored).toHaveLength(1)
    expect(stored[0]).not.toContain(key)
    expect(await ssh.storage.list('otp/')).toEqual([])
    expect(await write('verify', { otp: key })).toEqual({ ip: '10.1.1.1', role_name: 'r', username: 'u' })
    expect(await ssh.context.localStorage.list('otp/')).toEqual([])
  })
})
