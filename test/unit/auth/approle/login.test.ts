import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/logical/json.js'
import { ApproleMount, type Issued } from './approle-mount.js'

const WRONG = { status: 400, errors: ['invalid role or secret ID'] }
const NO_SECRET_ID = { status: 400, errors: ['missing secret_id'] }
const SUBSET = { status: 400, errors: [expect.stringMatching(/^failed to verify subset relationship/)] }
const refusedSource = (address: string, by: string) => ({
  status: 400,
  errors: [`source address "${address}" unauthorized ${by}`],
})

describe('login', () => {
  let approle: ApproleMount
  let issued: Issued
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    issued = await approle.issue('r')
  })
  const send = (body: JsonObject) => approle.write('login', body)

  it('AppRole login needs no token, unlike all other AppRole paths', () => {
    const { paths, rules } = approle.harness.backend
    expect(paths.map(({ pattern }) => pattern).filter((pattern) => rules?.find(pattern).access)).toEqual(['login'])
    expect(rules?.find('login')).toEqual({ access: 'open' })
  })

  describe('rule 1: role_id is always required', () => {
    it.each<[JsonObject]>([[{}], [{ role_id: '' }], [{ role_id: null }], [{ role_id: ' \t' }]])(
      'AppRole login needs a role_id: %j',
      async (body) => {
        expect(await send({ secret_id: issued.secretId, ...body })).toEqual({
          status: 400,
          errors: ['missing role_id'],
        })
      },
    )

    it('AppRole login rejects an unknown role_id', async () => {
      expect(await send({ role_id: 'unknown', secret_id: issued.secretId })).toEqual(WRONG)
      expect(await send({ role_id: 'R', secret_id: issued.secretId })).toEqual(WRONG)
    })

    it('AppRole login fails before any role exists', async () => {
      expect(await new ApproleMount().login('x', 'y')).toEqual(WRONG)
    })
  })

  describe('rule 2: secret_id is required when bind_secret_id is true', () => {
    it.each<[JsonObject]>([[{}], [{ secret_id: '' }], [{ secret_id: null }], [{ secret_id: ' ' }]])(
      'AppRole login rejects a missing secret_id if bind_secret_id is true: %j',
      async (body) => {
        expect(await send({ role_id: 'r', ...body })).toEqual(NO_SECRET_ID)
      },
    )

    it('AppRole login reports an unknown role_id before a missing secret_id', async () => {
      expect(await send({ role_id: 'unknown' })).toEqual(WRONG)
    })

    it('AppRole login ignores secret_id if bind_secret_id is false', async () => {
      await approle.makeRole('free', { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' })
      for (const body of [{}, { secret_id: 'anything' }, { secret_id: 's'.repeat(5000) }]) {
        expect(await send({ role_id: 'free', ...body })).toMatchObject({ status: 200 })
      }
      expect((await approle.auth('free', 'anything')).metadata).toEqual({ role_name: 'free' })
    })

    it('old SecretIDs work again after bind_secret_id returns to true', async () => {
      await approle.write('role/r', { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' })
      expect(await approle.login('r')).toMatchObject({ status: 200 })
      await approle.write('role/r', { bind_secret_id: true })
      expect(await approle.login('r')).toEqual(NO_SECRET_ID)
      expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
    })
  })

  it('AppRole login trims role_id and secret_id', async () => {
    expect(await send({ role_id: ' r ', secret_id: `\t${issued.secretId}\n` })).toMatchObject({ status: 200 })
  })

  it('AppRole login rejects SecretIDs that are too long, of another role or of another type', async () => {
    await approle.makeRole('q')
    expect(await approle.login('q', issued.secretId)).toEqual(WRONG)
    expect(await approle.login('r', 's'.repeat(4097))).toEqual({
      status: 400,
      errors: ['failed to create HMAC of secret_id: value is longer than maximum of 4096 bytes'],
    })
    const { status, errors } = await send({ role_id: 'r', secret_id: ['a'] })
    expect([status, errors?.[0]]).toEqual([
      400,
      expect.stringMatching(/^Field validation failed: error converting input for field "secret_id": /),
    ])
  })

  it('AppRole login answers unknown, expired, used-up and destroyed SecretIDs alike', async () => {
    const expired = await approle.issue('r', { ttl: 60 })
    const used = await approle.issue('r', { num_uses: 1 })
    const destroyed = await approle.issue('r')
    await approle.login('r', used.secretId)
    await approle.write('role/r/secret-id/destroy', { secret_id: destroyed.secretId })
    approle.clock.advance(59_999)
    expect(await approle.login('r', expired.secretId)).toMatchObject({ status: 200 })
    approle.clock.advance(1)
    for (const secretId of [expired.secretId, used.secretId, destroyed.secretId]) {
      expect(await approle.login('r', secretId)).toEqual(WRONG)
    }
    expect(await approle.login('r', 'unknown')).toMatchObject({ status: 400 })
  })

  it('AppRole login rejects and removes a SecretID whose accessor is missing', async () => {
    for (const key of await approle.storage.keys('accessor/')) await approle.storage.write((tx) => tx.delete(key))
    expect(await approle.login('r', issued.secretId)).toEqual(WRONG)
    expect(await approle.storage.keys('secret_id/')).toEqual([])
  })

  it('the AppRole login path supports writes only', async () => {
    for (const operation of ['read', 'delete', 'patch'] as const) {
      expect(await approle.ask(operation, 'login', { role_id: 'r' })).toMatchObject({ status: 405 })
    }
    expect(await approle.list('login')).toMatchObject({ status: 404 })
  })

  describe('uses of a SecretID', () => {
    it('a SecretID expires when its logins reach num_uses', async () => {
      const { secretId } = await approle.issue('r', { num_uses: 2 })
      const left = async () => (await approle.lookup('r', secretId)).data?.secret_id_num_uses
      expect(await left()).toBe(2)
      approle.clock.advance(1000)
      expect(await approle.login('r', secretId)).toMatchObject({ status: 200 })
      expect((await approle.lookup('r', secretId)).data).toMatchObject({
        secret_id_num_uses: 1,
        last_updated_time: new Date(approle.clock.now()).toISOString(),
      })
      expect(await approle.login('r', secretId)).toMatchObject({ status: 200 })
      expect(await approle.lookup('r', secretId)).toEqual({ status: 204 })
      expect(await approle.login('r', secretId)).toEqual(WRONG)
    })

    it('a login that is rejected for its address consumes a use of the SecretID', async () => {
      await approle.makeRole('c', { secret_id_bound_cidrs: '127.0.0.0/8', token_bound_cidrs: '127.0.0.0/8' })
      const { secretId } = await approle.issue('c', { num_uses: 3 })
      expect(await approle.login('c', secretId, '1.2.3.4')).toMatchObject({ status: 400 })
      expect((await approle.lookup('c', secretId)).data?.secret_id_num_uses).toBe(2)
    })

    it('a use of a SecretID is stored before the login is rejected for its address', async () => {
      await approle.makeRole('c', { secret_id_bound_cidrs: '127.0.0.0/8' })
      const { secretId } = await approle.issue('c', { num_uses: 3 })
      approle.storage.commitError = new Error('the disk is full')
      await expect(approle.login('c', secretId, '1.2.3.4')).rejects.toThrow('the disk is full')
    })

    it('a login with an unlimited SecretID writes nothing', async () => {
      const { writes } = approle.storage
      await approle.auth('r', issued.secretId)
      expect(approle.storage.writes).toBe(writes)
      expect((await approle.lookup('r', issued.secretId)).data?.secret_id_num_uses).toBe(0)
    })
  })

  describe('rule 3: addresses', () => {
    const ROLE = 'by CIDR restrictions on the role'
    const TOKEN = 'by CIDR restrictions on the token'

    it.each([
      ['10.0.0.0/8', '10.255.0.1', '11.0.0.1'],
      ['10.1.2.3/8', '10.0.0.1', '9.255.255.255'],
      ['127.0.0.1/32', '127.0.0.1', '127.0.0.2'],
      ['fd00::/8', 'fd12::1', 'fe80::1'],
      ['::ffff:10.0.0.0/104', '10.0.0.1', '11.0.0.1'],
      ['0.0.0.0/0', '1.2.3.4', '::1'],
    ])('secret_id_bound_cidrs %s lets %s in and not %s', async (block, inside, outside) => {
      await approle.makeRole('c', { secret_id_bound_cidrs: block })
      const { secretId } = await approle.issue('c')
      expect(await approle.login('c', secretId, inside)).toMatchObject({ status: 200 })
      expect(await approle.login('c', secretId, outside)).toEqual(refusedSource(outside, ROLE))
    })

    it('cidr_list of the SecretID binds it, in the words of its kind', async () => {
      const unlimited = await approle.issue('r', { cidr_list: '10.1.0.0/16' })
      const limited = await approle.issue('r', { cidr_list: '10.1.0.0/16', num_uses: 5 })
      for (const [{ secretId }, word] of [
        [unlimited, 'through'],
        [limited, 'by'],
      ] as const) {
        expect(await approle.login('r', secretId, '10.1.2.3')).toMatchObject({ status: 200 })
        expect(await approle.login('r', secretId, '10.2.2.3')).toEqual(
          refusedSource('10.2.2.3', `${word} CIDR restrictions on the secret ID`),
        )
      }
    })

    it('cidr_list must still be within the role, whose blocks may have changed', async () => {
      await approle.makeRole('c', { secret_id_bound_cidrs: '127.0.0.0/8' })
      const own = await approle.issue('c', { cidr_list: '127.0.0.1/32' })
      const without = await approle.issue('c')
      await approle.write('role/c', { secret_id_bound_cidrs: '10.0.0.0/8' })
      expect(await approle.login('c', own.secretId)).toEqual(SUBSET)
      expect(await approle.login('c', without.secretId)).toEqual(refusedSource('127.0.0.1', ROLE))
      await approle.write('role/c', { secret_id_bound_cidrs: '' })
      expect(await approle.login('c', own.secretId)).toMatchObject({ status: 200 })
      expect(await approle.login('c', own.secretId, '127.0.0.2')).toMatchObject({ status: 400 })
    })

    it('token_bound_cidrs of the role are tested last and bind the token', async () => {
      await approle.makeRole('c', { secret_id_bound_cidrs: '127.0.0.0/8', token_bound_cidrs: '10.0.0.0/8,127.0.0.9' })
      const { secretId } = await approle.issue('c')
      expect(await approle.login('c', secretId, '10.0.0.1')).toEqual(refusedSource('10.0.0.1', ROLE))
      expect(await approle.login('c', secretId, '127.0.0.1')).toEqual(refusedSource('127.0.0.1', TOKEN))
      expect((await approle.auth('c', secretId, '127.0.0.9')).boundCidrs).toEqual(['10.0.0.0/8', '127.0.0.9'])
    })

    it('token_bound_cidrs of the SecretID only bind the token', async () => {
      await approle.makeRole('c', { token_bound_cidrs: '127.0.0.0/8' })
      const { secretId } = await approle.issue('c', { token_bound_cidrs: '127.2.0.0/16' })
      expect((await approle.auth('c', secretId)).boundCidrs).toEqual(['127.2.0.0/16'])
      await approle.write('role/c', { token_bound_cidrs: '127.0.0.1' })
      expect((await approle.auth('c', secretId)).boundCidrs).toEqual(['127.2.0.0/16'])
    })
  })

  describe('tells the core', () => {
    it('AppRole login passes the token settings of the role to the core', async () => {
      await approle.makeRole('t', {
        token_policies: ['B', 'a'],
        token_ttl: 60,
        token_max_ttl: 120,
        token_explicit_max_ttl: 300,
        token_period: 30,
        token_num_uses: 4,
        token_no_default_policy: true,
        token_type: 'service',
      })
      const { secretId } = await approle.issue('t')
      expect(await approle.auth('t', secretId)).toEqual({
        displayName: '',
        policies: ['B', 'a'],
        metadata: { role_name: 't' },
        alias: { name: 't', metadata: { role_name: 't' } },
        tokenType: 'service',
        ttlSeconds: 60,
        maxTtlSeconds: 120,
        explicitMaxTtlSeconds: 300,
        periodSeconds: 30,
        numUses: 4,
        boundCidrs: [],
        noDefaultPolicy: true,
        internal: { role_name: 't' },
      })
    })

    it('AppRole login passes the metadata of the SecretID, which cannot override the role name', async () => {
      const { secretId } = await approle.issue('r', { metadata: '{"role_name":"admin","team":"blue"}' })
      const { metadata, alias } = await approle.auth('r', secretId)
      expect(metadata).toEqual({ role_name: 'r', team: 'blue' })
      expect(alias).toEqual({ name: 'r', metadata })
    })

    it('AppRole login uses the RoleID as alias name, so that another RoleID has another entity', async () => {
      await approle.write('role/r/role-id', { role_id: 'Other' })
      expect((await approle.auth('Other', issued.secretId)).alias?.name).toBe('Other')
    })
  })
})

describe('renewal', () => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r', { token_ttl: 60, token_policies: 'a', token_explicit_max_ttl: 600 })
  })
  const given = async () => approle.auth('r', (await approle.issue('r')).secretId)
  const renew = async (auth: Awaited<ReturnType<typeof given>>) => approle.harness.backend.renew?.(auth, {})

  it('renewal of an AppRole token takes ttl, maximum and period of the current role, and nothing else', async () => {
    const auth = await given()
    await approle.write('role/r', {
      token_ttl: 10,
      token_max_ttl: 20,
      token_period: 30,
      token_policies: 'b',
      token_explicit_max_ttl: 9,
      token_num_uses: 5,
      token_bound_cidrs: '::1',
    })
    expect(await renew(auth)).toEqual({ ttlSeconds: 10, maxTtlSeconds: 20, periodSeconds: 30 })
  })

  it('renewal of an AppRole token finds the role by name: it fails without one and works with a new one', async () => {
    const auth = await given()
    await approle.remove('role/r')
    await expect(renew(auth)).rejects.toMatchObject({
      code: 'invalid-request',
      message: 'failed to renew entry: role "r" does not exist during renewal',
    })
    await approle.makeRole('R', { token_ttl: 5 })
    expect(await renew(auth)).toEqual({ ttlSeconds: 5, maxTtlSeconds: 0, periodSeconds: 0 })
  })

  it('renewal of an AppRole token does not check the SecretID', async () => {
    const { secretId } = await approle.issue('r', { num_uses: 1 })
    const auth = await approle.auth('r', secretId)
    expect(await renew(auth)).toEqual({ ttlSeconds: 60, maxTtlSeconds: 0, periodSeconds: 0 })
  })
})
