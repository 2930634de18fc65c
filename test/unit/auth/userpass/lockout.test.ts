import bcrypt from 'bcrypt'
import { beforeEach, describe, expect, it } from 'vitest'
import { type BackendHarness, refusal } from '../../../support/backend-harness.js'
import { makeUserpass } from './userpass-mount.js'

const LOCKED = ['permission-denied', 'permission denied']
const WRONG = ['invalid-request', 'invalid username or password']
const MINUTE = 60_000
/** A hash with a low cost, because these tests log in often. */
const RIGHT = { password_hash: bcrypt.hashSync('right', 4) }

describe('a user who fails too often', () => {
  let userpass: BackendHarness
  beforeEach(async () => {
    userpass = makeUserpass()
    await userpass.write('users/ann', RIGHT)
    await userpass.write('users/bob', RIGHT)
  })

  const login = (password: string, name = 'ann', on = userpass) => on.write(`login/${name}`, { password })
  const fail = async (times: number, on = userpass) => {
    for (let count = 0; count < times; count++) expect(await refusal(login('wrong', 'ann', on))).toEqual(WRONG)
  }

  it('five wrong passwords in a row lock out a user, in any case of the name', async () => {
    await fail(5)
    expect(await refusal(login('right'))).toEqual(LOCKED)
    expect(await refusal(login('right', 'ANN'))).toEqual(LOCKED)
    expect((await login('right', 'bob'))?.login?.displayName).toBe('bob')
  })

  it('twelve concurrent wrong passwords lock out a user after five answers', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => refusal(login('wrong'))))
    expect(answers.filter(([code]) => code === 'invalid-request')).toHaveLength(5)
    expect(await refusal(login('right'))).toEqual(LOCKED)
  })

  it('a locked user may log in after the lock expires, and the count restarts', async () => {
    await fail(5)
    userpass.clock.advance(15 * MINUTE)
    await fail(4)
    expect((await login('right'))?.login?.displayName).toBe('ann')
    await fail(4)
    expect((await login('right'))?.login?.displayName).toBe('ann')
  })

  it('an operator can list and unlock a locked user', async () => {
    await fail(5)
    expect(userpass.backend.lockedUsers?.list()).toEqual(['ann'])
    userpass.backend.lockedUsers?.unlock('ann')
    expect((await login('right'))?.login?.displayName).toBe('ann')
  })

  it('failures count only for existing users', async () => {
    for (let count = 0; count < 6; count++) expect(await refusal(login('wrong', 'nobody'))).toEqual(WRONG)
    expect(userpass.backend.lockedUsers?.list()).toEqual([])
  })

  it('a user is never locked if the server or the mount tuning disables lockout', async () => {
    for (const on of [makeUserpass('off'), makeUserpass(undefined, { userLockout: { lockout_disable: true } })]) {
      await on.write('users/ann', RIGHT)
      await fail(6, on)
      expect((await login('right', 'ann', on))?.login?.displayName).toBe('ann')
    }
  })
})
