import { beforeEach, describe, expect, it } from 'vitest'
import type { LoginAuth } from '../../../../src/logical/request.js'
import { type BackendHarness, refusal } from '../../../support/backend-harness.js'
import { makeUserpass } from '../../../unit/auth/userpass/userpass-mount.js'

const WRONG = ['invalid-request', 'invalid username or password']

describe('login by password', () => {
  let userpass: BackendHarness
  beforeEach(async () => {
    userpass = makeUserpass()
    await userpass.write('users/Ann', { password: 'secret', token_policies: 'dev', token_ttl: '1h', token_num_uses: 4 })
  })

  const login = (name = 'ann', password = 'secret', remoteAddress = '127.0.0.1') =>
    userpass.call('update', `login/${name}`, { password }, { remoteAddress })

  it('login by password needs no token', () => {
    expect(userpass.backend.rules?.find('login/ann')).toEqual({ access: 'open' })
  })

  it('login by password describes the token that the core creates', async () => {
    expect((await login('ANN'))?.login).toEqual({
      displayName: 'ann',
      metadata: { username: 'ann' },
      alias: { name: 'ann', metadata: {} },
      policies: ['dev'],
      tokenType: 'default',
      ttlSeconds: 3600,
      maxTtlSeconds: 0,
      explicitMaxTtlSeconds: 0,
      periodSeconds: 0,
      numUses: 4,
      boundCidrs: [],
      noDefaultPolicy: false,
      internal: { username: 'ann' },
    })
  })

  it('login by password rejects a wrong password and an unknown name with the same text', async () => {
    expect(await refusal(login('ann', 'wrong'))).toEqual(WRONG)
    expect(await refusal(login('nobody'))).toEqual(WRONG)
    expect(await refusal(login('ann', ''))).toEqual(['invalid-request', 'missing password'])
  })

  it('login by password rejects addresses outside the blocks of the user', async () => {
    await userpass.write('users/ann', { token_bound_cidrs: '10.0.0.0/8' })
    expect(await refusal(login())).toEqual(['permission-denied', 'permission denied'])
    expect((await login('ann', 'secret', '10.1.2.3'))?.login?.boundCidrs).toEqual(['10.0.0.0/8'])
  })

  it('login by password writes nothing', async () => {
    const { writes } = userpass.storage
    await login()
    expect(userpass.storage.writes).toBe(writes)
  })

  it('the login path of userpass rejects a read', async () => {
    expect(await refusal(userpass.read('login/ann'))).toEqual(['unsupported-operation', 'unsupported operation'])
  })

  describe('renewal of a userpass token', () => {
    const renew = async (auth: LoginAuth) => userpass.backend.renew?.(auth, {})
    const given = async () => {
      const auth = (await login())?.login
      if (!auth) throw new Error('no login')
      return auth
    }

    it('renewal of a userpass token uses the current times of the user', async () => {
      const auth = await given()
      await userpass.write('users/ann', { token_ttl: 60, token_max_ttl: 120, token_period: 30, token_num_uses: 9 })
      expect(await renew(auth)).toEqual({ ttlSeconds: 60, maxTtlSeconds: 120, periodSeconds: 30 })
    })

    it('renewal of a userpass token fails after the policies of the user change', async () => {
      const auth = await given()
      await userpass.write('users/ann/policies', { token_policies: 'dev,default' })
      expect(await renew(auth)).toBeDefined()
      await userpass.write('users/ann/policies', { token_policies: 'ops' })
      expect(await refusal(renew(auth))).toEqual(['invalid-request', 'policies have changed, not renewing'])
    })

    it('renewal of a userpass token fails after the user is deleted', async () => {
      const auth = await given()
      await userpass.call('delete', 'users/ann')
      expect((await refusal(renew(auth)))[1]).toBe('user "ann" does not exist during renewal')
    })
  })
})
