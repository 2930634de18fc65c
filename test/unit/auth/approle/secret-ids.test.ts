import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/logical/json.js'
import { ApproleMount } from './approle-mount.js'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const HOUR = 3600
const MOUNT_MAX = 2_764_800

const sorted = (keys: unknown) => (Array.isArray(keys) ? [...keys].sort() : keys)

/** The two endpoints that create SecretIDs; the custom one contains the value. */
const ENDPOINTS = [
  ['secret-id', {}],
  ['custom-secret-id', { secret_id: 'mine' }],
] as const

describe('making a SecretID', () => {
  let approle: ApproleMount
  beforeEach(() => {
    approle = new ApproleMount()
  })

  it('generate returns a new SecretID and its accessor', async () => {
    await approle.makeRole('r', { secret_id_num_uses: 5, secret_id_ttl: '1h' })
    const { status, data } = await approle.write('role/r/secret-id')
    expect(status).toBe(200)
    expect(data).toEqual({
      secret_id: expect.stringMatching(UUID),
      secret_id_accessor: expect.stringMatching(UUID),
      secret_id_num_uses: 5,
      secret_id_ttl: HOUR,
    })
    expect(await approle.login('r', String(data?.secret_id))).toMatchObject({ status: 200 })
  })

  it('custom-secret-id returns the value as sent', async () => {
    await approle.makeRole('r')
    const { data } = await approle.write('role/r/custom-secret-id', { secret_id: 'a b/c?d=é' })
    expect(data).toMatchObject({ secret_id: 'a b/c?d=é', secret_id_num_uses: 0, secret_id_ttl: 0 })
    expect(await approle.login('r', 'a b/c?d=é')).toMatchObject({ status: 200 })
  })

  it('generate never returns the same value or accessor twice', async () => {
    await approle.makeRole('r')
    const issued = await Promise.all(Array.from({ length: 50 }, () => approle.issue('r')))
    expect(new Set(issued.flatMap(({ secretId, accessor }) => [secretId, accessor])).size).toBe(100)
  })

  it('the stored data does not reveal a SecretID', async () => {
    await approle.makeRole('r')
    await approle.write('role/r/custom-secret-id', { secret_id: 'plain-text', metadata: '{"k":"v"}' })
    for (const key of await approle.storage.keys('')) {
      expect(key + approle.storage.get(key)?.toString()).not.toContain('plain-text')
    }
  })

  it('a wrapped response shows the accessor of the SecretID', async () => {
    await approle.makeRole('r')
    for (const [path, body] of ENDPOINTS) {
      const response = await approle.harness.write(`role/r/${path}`, body)
      expect(response?.wrappedAccessor).toMatch(UUID)
      expect(response?.data).toMatchObject({ secret_id_accessor: response?.wrappedAccessor })
    }
  })

  it('generate ignores the field secret_id', async () => {
    await approle.makeRole('r')
    const { data, warnings } = await approle.write('role/r/secret-id', { secret_id: 'mine', colour: 'red' })
    expect(data?.secret_id).not.toBe('mine')
    expect(warnings).toEqual(['Endpoint ignored these unrecognized parameters: [colour secret_id]'])
  })

  describe.each(ENDPOINTS)('by %s', (path, value) => {
    const make = (body: JsonObject = {}) => approle.write(`role/r/${path}`, { ...value, ...body })

    it('a new SecretID accepts every field of the specification', async () => {
      await approle.makeRole('r')
      const body = {
        metadata: '{"team":"blue"}',
        cidr_list: ['127.0.0.0/8'],
        token_bound_cidrs: '127.0.0.1/32,10.0.0.0/8',
        num_uses: '2',
        ttl: '10m',
      }
      const { data } = await make(body)
      expect(data).toMatchObject({ secret_id_num_uses: 2, secret_id_ttl: 600 })
      const nowMs = approle.clock.now()
      expect(await approle.lookup('r', String(data?.secret_id))).toEqual({
        status: 200,
        data: {
          secret_id_accessor: data?.secret_id_accessor,
          secret_id_num_uses: 2,
          secret_id_ttl: 600,
          creation_time: new Date(nowMs).toISOString(),
          last_updated_time: new Date(nowMs).toISOString(),
          expiration_time: new Date(nowMs + 600_000).toISOString(),
          metadata: { team: 'blue' },
          cidr_list: ['127.0.0.0/8'],
          token_bound_cidrs: ['127.0.0.1/32', '10.0.0.0/8'],
        },
      })
    })

    it('a new SecretID without fields inherits uses and ttl of the role, and is bound to no address', async () => {
      await approle.makeRole('r', { secret_id_num_uses: 3, secret_id_ttl: 60, secret_id_bound_cidrs: '10.0.0.0/8' })
      const { data } = await make()
      expect((await approle.lookup('r', String(data?.secret_id))).data).toMatchObject({
        secret_id_num_uses: 3,
        secret_id_ttl: 60,
        metadata: {},
        cidr_list: [],
        token_bound_cidrs: [],
      })
    })

    it('a SecretID for an unknown role is 404 with the role name as sent', async () => {
      expect(await approle.write(`role/None/${path}`, value)).toEqual({
        status: 404,
        errors: ['role "None" does not exist'],
      })
    })

    it('a role without bind_secret_id rejects new SecretIDs', async () => {
      await approle.makeRole('r', { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' })
      expect(await make({ num_uses: -1 })).toEqual({ status: 400, errors: ['bind_secret_id is not set on the role'] })
    })

    describe('within the limits of the role', () => {
      beforeEach(() =>
        approle.makeRole('r', {
          secret_id_num_uses: 4,
          secret_id_ttl: '10m',
          secret_id_bound_cidrs: '10.0.0.0/8,192.168.0.0/16,fd00::/8',
          token_bound_cidrs: '10.0.0.0/8,192.168.1.1,::1',
        }),
      )

      it.each<[JsonObject]>([
        [{ num_uses: 4, ttl: 600 }],
        [{ num_uses: '1', ttl: '1s' }],
        [{ ttl: null }],
        [{ cidr_list: '10.1.0.0/16,192.168.3.0/24' }],
        [{ cidr_list: ['fd12::/16'] }],
        [{ cidr_list: '' }],
        [{ token_bound_cidrs: '10.9.9.9/32,192.168.1.1/32,::1/128' }],
      ])('a limited role accepts a SecretID with %j', async (body) => {
        expect(await make(body)).toMatchObject({ status: 200 })
      })

      const USES = "num_uses cannot be higher than the role's secret_id_num_uses"
      const TTL = "ttl cannot be longer than the role's secret_id_ttl"
      const SUBSET = 'failed to verify subset relationship between CIDR blocks on the role ["'
      it.each<[JsonObject, string]>([
        [{ num_uses: 5 }, USES],
        [{ num_uses: 0 }, USES],
        [{ num_uses: null }, USES],
        [{ num_uses: -1 }, 'num_uses cannot be negative'],
        [{ num_uses: 'few' }, 'Field validation failed: error converting input for field "num_uses": '],
        [{ ttl: '11m' }, TTL],
        [{ ttl: 0 }, TTL],
        [{ ttl: '' }, TTL],
        [{ ttl: '-1s' }, 'Field validation failed: error converting input for field "ttl": '],
        [{ num_uses: 9, ttl: '1h' }, USES],
        [{ cidr_list: ['10.1.0.0/16', '172.16.0.0/12'] }, SUBSET],
        [{ cidr_list: '10.0.0.0/7' }, SUBSET],
        [{ cidr_list: 'fe80::/10' }, SUBSET],
        [{ cidr_list: '10.0.0.1' }, 'failed to validate CIDR blocks: invalid CIDR address: 10.0.0.1'],
        [{ token_bound_cidrs: '192.168.1.0/24' }, SUBSET],
        [{ token_bound_cidrs: '::/64' }, SUBSET],
        [{ token_bound_cidrs: '10.9.9.9' }, 'failed to validate token CIDR blocks: invalid CIDR address: 10.9.9.9'],
        [{ metadata: 'nothing' }, 'failed to parse metadata: '],
        [{ metadata: 'nothing', ttl: '11m' }, TTL],
        [{ cidr_list: 'x', num_uses: 9 }, 'failed to validate CIDR blocks'],
        [{ cidr_list: 'x', token_bound_cidrs: 'x' }, 'failed to validate CIDR blocks'],
      ])('a limited role rejects a SecretID with %j', async (body, text) => {
        const { status, errors } = await make(body)
        expect([status, errors?.[0]?.slice(0, text.length)]).toEqual([400, text])
        expect(await approle.list('role/r/secret-id')).toMatchObject({ status: 404 })
      })

      it('the rejection of a SecretID shows the addresses of the role and of the request', async () => {
        expect((await make({ cidr_list: '1.0.0.0/8,10.1.0.0/16' })).errors?.[0]).toContain(
          '["10.0.0.0/8" "192.168.0.0/16" "fd00::/8"] and CIDR blocks on the secret ID ["1.0.0.0/8" "10.1.0.0/16"]',
        )
      })

      it('a SecretID is checked against the current limits, and keeps its own after they change', async () => {
        const { data } = await make()
        await approle.write('role/r', { secret_id_num_uses: 1, secret_id_ttl: 30 })
        expect((await approle.lookup('r', String(data?.secret_id))).data).toMatchObject({
          secret_id_num_uses: 4,
          secret_id_ttl: 600,
        })
        expect(await approle.write('role/r/secret-id', { num_uses: 2 })).toMatchObject({ status: 400 })
      })
    })

    it('a role without limits accepts any SecretID, and the mount caps its ttl', async () => {
      await approle.makeRole('r')
      const { data } = await make({ num_uses: 1000, ttl: '1000h', cidr_list: '1.0.0.0/8', token_bound_cidrs: '::/0' })
      expect(data).toMatchObject({ secret_id_num_uses: 1000, secret_id_ttl: MOUNT_MAX })
      expect((await approle.lookup('r', String(data?.secret_id))).data).toMatchObject({
        secret_id_ttl: 1000 * HOUR,
        expiration_time: new Date(approle.clock.now() + MOUNT_MAX * 1000).toISOString(),
      })
    })

    it('a SecretID with a ttl of 0 never expires', async () => {
      await approle.makeRole('r')
      const { data } = await make({ ttl: 0 })
      expect(data).toMatchObject({ secret_id_ttl: 0 })
      expect((await approle.lookup('r', String(data?.secret_id))).data).toMatchObject({
        expiration_time: '0001-01-01T00:00:00Z',
      })
    })
  })
})

describe('custom SecretIDs', () => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('q')
  })
  const attach = (body: JsonObject, role = 'r') => approle.write(`role/${role}/custom-secret-id`, body)
  const DUPLICATE = { status: 400, errors: ['failed to store secret_id: SecretID is already registered'] }

  it.each<[JsonObject]>([[{}], [{ secret_id: '' }], [{ secret_id: null }]])(
    'custom SecretIDs need a value: %j',
    async (body) => {
      for (const role of ['r', 'none']) {
        expect(await attach(body, role)).toEqual({ status: 400, errors: ['missing secret_id'] })
      }
    },
  )

  it('a custom SecretID can be attached once per role, also to several roles', async () => {
    expect(await attach({ secret_id: 's' })).toMatchObject({ status: 200 })
    expect(await attach({ secret_id: 's' })).toEqual(DUPLICATE)
    expect(await attach({ secret_id: 's' }, 'q')).toMatchObject({ status: 200 })
  })

  it('one of many concurrent writes of a custom SecretID succeeds', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => attach({ secret_id: 's' })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(9)
    expect(await approle.storage.keys('accessor/')).toHaveLength(1)
  })

  it('a custom SecretID can be attached again after it expired or was destroyed', async () => {
    await attach({ secret_id: 's', ttl: 60 })
    approle.clock.advance(59_999)
    expect(await attach({ secret_id: 's' })).toEqual(DUPLICATE)
    approle.clock.advance(1)
    expect(await attach({ secret_id: 's' })).toMatchObject({ status: 200 })
    expect(await approle.storage.keys('accessor/')).toHaveLength(1)
    await approle.write('role/r/secret-id/destroy', { secret_id: 's' })
    expect(await attach({ secret_id: 's' })).toMatchObject({ status: 200 })
  })

  it('a custom SecretID has at most 4096 bytes', async () => {
    expect(await attach({ secret_id: 's'.repeat(4096) })).toMatchObject({ status: 200 })
    for (const value of ['s'.repeat(4097), 'é'.repeat(2049)]) {
      expect(await attach({ secret_id: value })).toEqual({
        status: 400,
        errors: [
          'failed to store secret_id: failed to create HMAC of secret ID: value is longer than maximum of 4096 bytes',
        ],
      })
    }
  })

  it('a custom SecretID keeps its outer blanks, so that it can never log in', async () => {
    await attach({ secret_id: ' s ' })
    expect(await approle.lookup('r', ' s ')).toMatchObject({ status: 200 })
    expect(await approle.login('r', ' s ')).toMatchObject({ status: 400 })
  })
})

describe('SecretIDs of a role', () => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
  })

  it('LIST shows the accessors of the SecretIDs of one role, custom ones included', async () => {
    expect(await approle.list('role/r/secret-id')).toEqual({ status: 404, errors: [] })
    const { accessor } = await approle.issue('r')
    const { data } = await approle.write('role/r/custom-secret-id', { secret_id: 's' })
    await approle.makeRole('q')
    await approle.issue('q')
    const listed = await approle.list('role/r/secret-id')
    expect(sorted(listed.data?.keys)).toEqual([accessor, String(data?.secret_id_accessor)].sort())
  })

  it('LIST shows all of 600 SecretIDs of a role', async () => {
    const issued = await Promise.all(Array.from({ length: 600 }, () => approle.issue('r')))
    const { data } = await approle.list('role/r/secret-id')
    expect(sorted(data?.keys)).toEqual(issued.map(({ accessor }) => accessor).sort())
    await approle.remove('role/r')
    expect(await approle.storage.keys('secret_id/')).toEqual([])
  })

  it('LIST of the SecretIDs of an unknown role is 400', async () => {
    expect(await approle.list('role/None/secret-id')).toEqual({ status: 400, errors: ['role "None" does not exist'] })
  })

  it('the SecretID paths reject GET and DELETE', async () => {
    expect(await approle.read('role/r/secret-id')).toMatchObject({ status: 405 })
    expect(await approle.remove('role/r/secret-id')).toMatchObject({ status: 405 })
    expect(await approle.remove('role/r/custom-secret-id')).toMatchObject({ status: 405 })
    expect(await approle.list('role/r/custom-secret-id')).toMatchObject({ status: 404 })
  })
})

describe('looking up and destroying by value', () => {
  let approle: ApproleMount
  let secretId: string
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('q')
    secretId = (await approle.issue('r', { ttl: 60 })).secretId
  })
  const at = (what: string, role = 'r') => `role/${role}/secret-id/${what}`
  const WORDS = ['lookup', 'destroy']

  it.each(WORDS)('%s of a SecretID requires the value', async (word) => {
    expect(await approle.write(at(word, 'none'), {})).toEqual({ status: 400, errors: ['missing secret_id'] })
    expect(await approle.write(at(word), { secret_id: 's'.repeat(4097) })).toMatchObject({ status: 400 })
  })

  it.each(WORDS)('%s of a SecretID in an unknown role is 404', async (word) => {
    expect(await approle.write(at(word, 'None'), { secret_id: 's' })).toEqual({
      status: 404,
      errors: ['role "None" does not exist'],
    })
  })

  it.each(WORDS)('%s of an unknown SecretID is 204', async (word) => {
    expect(await approle.write(at(word), { secret_id: 'unknown' })).toEqual({ status: 204 })
  })

  it.each(WORDS)('%s of a SecretID in another role does nothing', async (word) => {
    expect(await approle.write(at(word, 'q'), { secret_id: secretId })).toEqual({ status: 204 })
    expect(await approle.login('r', secretId)).toMatchObject({ status: 200 })
  })

  it('lookup of a SecretID shows neither the value nor the role', async () => {
    const { data } = await approle.lookup('r', secretId)
    expect(data).not.toHaveProperty('role')
    expect(JSON.stringify(data)).not.toContain(secretId)
  })

  it('lookup of an expired SecretID is 204 at once', async () => {
    approle.clock.advance(59_999)
    expect(await approle.lookup('r', secretId)).toMatchObject({ status: 200 })
    approle.clock.advance(1)
    expect(await approle.lookup('r', secretId)).toEqual({ status: 204 })
    expect(await approle.list('role/r/secret-id')).toMatchObject({ status: 404 })
  })

  it('lookup of a SecretID writes nothing', async () => {
    const { writes } = approle.storage
    await approle.lookup('r', secretId)
    expect(approle.storage.writes).toBe(writes)
  })

  it('lookup removes a SecretID whose accessor is missing', async () => {
    const [accessorKey = ''] = await approle.storage.keys('accessor/')
    await approle.storage.write((tx) => tx.delete(accessorKey))
    expect(await approle.lookup('r', secretId)).toEqual({ status: 204 })
    expect(await approle.storage.keys('secret_id/')).toEqual([])
  })

  it.each([
    ['POST', 'update'],
    ['DELETE', 'delete'],
  ] as const)('a SecretID is destroyed: %s', async (_verb, operation) => {
    expect(await approle.ask(operation, at('destroy'), { secret_id: secretId })).toEqual({ status: 204 })
    expect(await approle.lookup('r', secretId)).toEqual({ status: 204 })
    expect(await approle.login('r', secretId)).toMatchObject({ status: 400 })
    expect(await approle.storage.keys('accessor/')).toEqual([])
    expect(await approle.ask(operation, at('destroy'), { secret_id: secretId })).toEqual({ status: 204 })
  })

  it('destroy of a SecretID does not revoke its tokens', async () => {
    expect(await approle.harness.write(at('destroy'), { secret_id: secretId })).toBeUndefined()
  })

  it('the paths for SecretID values reject GET', async () => {
    for (const word of WORDS) expect(await approle.read(at(word))).toMatchObject({ status: 405 })
  })
})
