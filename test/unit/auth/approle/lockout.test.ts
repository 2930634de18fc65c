import { beforeEach, describe, expect, it } from 'vitest'
import { ApproleMount, type Issued } from './approle-mount.js'

const LOCKED = { status: 403, errors: ['permission denied'] }
const WRONG = { status: 400, errors: ['invalid role or secret ID'] }
const MINUTE = 60_000

describe('lockout', () => {
  let approle: ApproleMount
  let issued: Issued
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('q')
    issued = await approle.issue('r')
  })
  const fail = async (times: number, secretId = 'wrong', on = approle) => {
    for (let count = 0; count < times; count++) expect(await on.login('r', secretId)).toEqual(WRONG)
  }

  it('five unknown SecretIDs in a row lock out a RoleID for every login', async () => {
    await fail(5)
    expect(await approle.login('r', issued.secretId)).toEqual(LOCKED)
    expect(await approle.login(' r ', issued.secretId)).toEqual(LOCKED)
    expect(await approle.login('r')).toEqual(LOCKED)
  })

  it('a lockout concerns one RoleID', async () => {
    await fail(5)
    const { secretId } = await approle.issue('q')
    expect(await approle.login('q', secretId)).toMatchObject({ status: 200 })
  })

  it('a login during a lockout costs no use', async () => {
    const { secretId } = await approle.issue('r', { num_uses: 3 })
    await fail(5)
    expect(await approle.login('r', secretId)).toEqual(LOCKED)
    expect((await approle.lookup('r', secretId)).data?.secret_id_num_uses).toBe(3)
  })

  it('a successful login resets the count of failures', async () => {
    await fail(4)
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
    await fail(4)
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
  })

  it('a lockout ends 15 minutes after the last failure, and the count restarts', async () => {
    await fail(5)
    approle.clock.advance(15 * MINUTE - 1)
    expect(await approle.login('r', issued.secretId)).toEqual(LOCKED)
    approle.clock.advance(1)
    await fail(4)
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
  })

  it('failures count for 15 minutes', async () => {
    await fail(4)
    approle.clock.advance(15 * MINUTE)
    await fail(4)
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
  })

  it('used-up, destroyed and expired SecretIDs count as failures', async () => {
    const used = await approle.issue('r', { num_uses: 1 })
    const expired = await approle.issue('r', { ttl: 1 })
    const destroyed = await approle.issue('r')
    await approle.login('r', used.secretId)
    await approle.write('role/r/secret-id/destroy', { secret_id: destroyed.secretId })
    approle.clock.advance(1000)
    for (const { secretId } of [used, expired, destroyed]) await fail(1, secretId)
    await fail(2)
    expect(await approle.login('r', issued.secretId)).toEqual(LOCKED)
  })

  it('a missing SecretID, an unknown RoleID and a rejected address do not count as failures', async () => {
    await approle.write('role/r', { secret_id_bound_cidrs: '10.0.0.0/8' })
    for (let count = 0; count < 6; count++) {
      await approle.login('r')
      await approle.login('unknown', 'x')
      await approle.login('r', issued.secretId, '1.2.3.4')
    }
    expect(await approle.login('r', issued.secretId, '10.0.0.1')).toMatchObject({ status: 200 })
    expect(await approle.login('unknown', 'x')).toEqual(WRONG)
  })

  it('lockout is on by default, and can be configured or disabled', async () => {
    const off = new ApproleMount({ lockout: undefined })
    await off.makeRole('r')
    await fail(20, 'wrong', off)
    const strict = new ApproleMount({ lockout: { threshold: 1, durationMs: 1000, counterResetMs: 1000 } })
    await strict.makeRole('r')
    await fail(1, 'wrong', strict)
    expect(await strict.login('r', 'wrong')).toEqual(LOCKED)
    strict.clock.advance(1000)
    await fail(1, 'wrong', strict)
  })

  it('the tuning of a mount changes its lockout from one request to the next', async () => {
    await fail(5)
    approle.mount.userLockout = { lockout_disable: true }
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
    approle.mount.userLockout = { lockout_threshold: '2', lockout_duration: '1m' }
    await fail(2)
    expect(await approle.login('r', issued.secretId)).toEqual(LOCKED)
    approle.clock.advance(MINUTE)
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
    const off = new ApproleMount({ lockout: undefined })
    await off.makeRole('r')
    off.mount.userLockout = { lockout_disable: false }
    await fail(5, 'wrong', off)
    expect(await off.login('r', 'wrong')).toEqual(LOCKED)
  })

  it('an operator can list and unlock locked RoleIDs', async () => {
    const { lockedUsers } = approle.harness.backend
    await fail(4)
    expect(lockedUsers?.list()).toEqual([])
    await fail(1)
    expect(lockedUsers?.list()).toEqual(['r'])
    lockedUsers?.unlock('nobody')
    lockedUsers?.unlock('r')
    expect(lockedUsers?.list()).toEqual([])
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
  })

  it('a lockout writes nothing', async () => {
    const { writes } = approle.storage
    await fail(5)
    expect(approle.storage.writes).toBe(writes)
    expect(approle.localStorage.writes).toBe(0)
  })

  it('a SecretID known on a secondary resets the failures, though the primary decides the login', async () => {
    const { secretId } = await approle.issue('r', { num_uses: 9 })
    await fail(4)
    approle.isReadOnly = true
    expect(await approle.login('r', secretId)).toMatchObject({ status: 503 })
    await fail(4)
    expect(await approle.login('r', issued.secretId)).toMatchObject({ status: 200 })
  })
})
