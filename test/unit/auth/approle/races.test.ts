import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Answer, ApproleMount } from './approle-mount.js'

const seed = Date.now() % 2 ** 31
console.info(`approle races: seed ${seed}`)

const count = (answers: readonly Answer[], status: number) =>
  answers.filter((answer) => answer.status === status).length
const times = <T>(many: number, fn: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: many }, (_, index) => fn(index)))

describe('at the same time', () => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount({ lockout: undefined })
    await approle.makeRole('r', { secret_id_bound_cidrs: '127.0.0.0/8' })
    await approle.makeRole('l', { local_secret_ids: true })
  })

  it.each([
    [1, 100],
    [7, 100],
    [100, 100],
  ])('a SecretID with %i uses permits that many of %i concurrent logins', async (uses, logins) => {
    for (const role of ['r', 'l']) {
      const { secretId } = await approle.issue(role, { num_uses: uses })
      const answers = await times(logins, () => approle.login(role, secretId))
      expect([count(answers, 200), count(answers, 400)]).toEqual([uses, logins - uses])
      expect(await approle.lookup(role, secretId)).toEqual({ status: 204 })
    }
  })

  it('logins rejected for their address consume uses of a SecretID', async () => {
    const { secretId } = await approle.issue('r', { num_uses: 10 })
    const answers = await times(20, (index) => approle.login('r', secretId, index % 2 ? '127.0.0.1' : '1.2.3.4'))
    expect(count(answers, 200)).toBe(5)
  })

  it('a concurrent login and destruction leave no SecretID', async () => {
    const { secretId, accessor } = await approle.issue('r', { num_uses: 5 })
    await Promise.all([
      approle.login('r', secretId),
      approle.write('role/r/secret-id/destroy', { secret_id: secretId }),
      approle.login('r', secretId),
      approle.write('role/r/secret-id-accessor/destroy', { secret_id_accessor: accessor }),
    ])
    expect(await approle.storage.keys('secret_id/')).toEqual([])
    expect(await approle.storage.keys('accessor/')).toEqual([])
  })

  it.each(['r', 'l'])('a SecretID created while its role is %s deleted does not work', async (role) => {
    const made = await times(20, async (index) => {
      if (index === 10) await approle.remove(`role/${role}`)
      return approle.write(`role/${role}/secret-id`)
    })
    expect(count(made, 200) + count(made, 404)).toBe(20)
    await approle.write('tidy/secret-id')
    await approle.harness.backend.stop?.()
    expect(await approle.storage.keys('secret_id/')).toEqual([])
    expect(await approle.storage.keys('accessor/')).toEqual([])
    expect(await approle.localStorage.keys('')).toEqual([])
  })

  it('concurrent updates of different role fields all take effect', async () => {
    await Promise.all([
      approle.write('role/r', { token_ttl: 60 }),
      approle.write('role/r/token-num-uses', { token_num_uses: 3 }),
      approle.write('role/r', { token_policies: 'a' }),
      approle.write('role/r/role-id', { role_id: 'x' }),
    ])
    expect((await approle.read('role/r')).data).toMatchObject({
      token_ttl: 60,
      token_num_uses: 3,
      token_policies: ['a'],
    })
    expect((await approle.read('role/r/role-id')).data).toEqual({ role_id: 'x' })
  })

  it('contradicting concurrent updates leave a valid role', async () => {
    const answers = await Promise.all([
      approle.write('role/r', { token_type: 'batch' }),
      approle.write('role/r', { token_num_uses: 3 }),
      approle.write('role/r/period', { token_period: 3 }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([204, 400, 400])
  })
})

describe('uses of SecretIDs', () => {
  const VALUES = ['a', 'b'] as const
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('login' as const), value: fc.constantFrom(...VALUES) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('attach' as const),
        value: fc.constantFrom(...VALUES),
        uses: fc.integer({ min: 1, max: 4 }),
        ttl: fc.constantFrom(0, 5),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('destroy' as const), value: fc.constantFrom(...VALUES) }) },
  )
  const rounds = fc.array(fc.record({ steps: fc.array(step, { maxLength: 8 }), pauseMs: fc.constantFrom(0, 3000) }), {
    maxLength: 12,
  })

  it('concurrent operations never exceed the uses of a SecretID, and keep the accessor index consistent', async () => {
    await fc.assert(
      fc.asyncProperty(rounds, fc.boolean(), async (plan, isLocal) => {
        const approle = new ApproleMount({ lockout: undefined })
        await approle.makeRole('r', { local_secret_ids: isLocal })
        const granted = { a: 0, b: 0 }
        const taken = { a: 0, b: 0 }
        for (const { steps, pauseMs } of plan) {
          await Promise.all(
            steps.map(async (one) => {
              if (one.do === 'login') {
                if ((await approle.login('r', one.value)).status === 200) taken[one.value]++
              } else if (one.do === 'destroy') {
                await approle.write('role/r/secret-id/destroy', { secret_id: one.value })
              } else {
                const body = { secret_id: one.value, num_uses: one.uses, ttl: one.ttl }
                const { status } = await approle.write('role/r/custom-secret-id', body)
                if (status === 200) granted[one.value] += one.uses
              }
            }),
          )
          approle.clock.advance(pauseMs)
          for (const value of VALUES) expect(taken[value]).toBeLessThanOrEqual(granted[value])
          const store = isLocal ? approle.localStorage : approle.storage
          const suffix = isLocal ? '_local/' : '/'
          expect(await store.keys(`accessor${suffix}`)).toHaveLength((await store.keys(`secret_id${suffix}`)).length)
        }
      }),
      { seed, numRuns: 60 },
    )
  })
})
