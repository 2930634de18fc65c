import { expect, it } from 'vitest'
import { describeLost } from '../../../src/server/own-api/lost-entries.js'

const NOW_MS = 1_000_000
const LATER = '000000002000000'
const EARLIER = '000000000500000'
const SECRET_ID = `auth/approle/secret_id_local/${'a'.repeat(64)}/${'b'.repeat(64)}`
const ACCESSOR = `auth/approle/accessor_local/${'c'.repeat(64)}`

const expiryAt = (time: string) => `sys/expire/time/${time}.h1/root/auth/token/create`

/**
 * Returns the credentials that came back. Each step is the operations of one log entry, such as `put sys/token/id/h1`.
 * `new` instead of `put`: the key had no value before.
 */
const restoredBy = (...steps: readonly (readonly string[])[]) =>
  describeLost(
    steps.flatMap((operations, step) =>
      operations.map((text) => {
        const [word = '', path = ''] = text.split(' ')
        const operation = word === 'delete' ? word : 'put'
        return { index: 7 + step, path, operation, ...(word === 'new' && { isNew: true }) }
      }),
    ),
    NOW_MS,
  ).flatMap(({ credential, index }) => (credential === null ? [] : [`${String(credential)} ${String(index)}`]))

it('a token whose revocation was lost came back', () => {
  const revoked = ['delete sys/token/id/h1', 'delete sys/token/parent/h0/h1', `delete ${expiryAt(LATER)}`]
  expect(restoredBy(['put kv/data/a'], revoked)).toEqual(['token 8'])
  expect(restoredBy(['delete sys/token/id/h1']), 'a token without an expiry').toEqual(['token 7'])
  const renewed = ['put sys/token/id/h1', `delete ${expiryAt(LATER)}`, `put ${expiryAt('000000003000000')}`]
  expect(restoredBy(renewed, ['delete sys/token/id/h1', `delete ${expiryAt('000000003000000')}`])).toEqual(['token 8'])
})

it('a token with limited uses came back if its last use was lost', () => {
  const used = ['put sys/token/id/h1', `delete ${expiryAt(LATER)}`, `put ${expiryAt(EARLIER)}`]
  const removed = ['delete sys/token/id/h1', `delete ${expiryAt(EARLIER)}`]
  expect(restoredBy(['put sys/token/id/h1'], used, removed)).toEqual(['token 9'])
})

it('a token that has expired, or that the lost entries created, did not come back', () => {
  expect(restoredBy(['delete sys/token/id/h1', `delete ${expiryAt(EARLIER)}`])).toEqual([])
  const created = ['new sys/token/id/h1', `new ${expiryAt(LATER)}`]
  expect(restoredBy(created, ['delete sys/token/id/h1', `delete ${expiryAt(LATER)}`])).toEqual([])
  expect(restoredBy(['new sys/token/id/h1'], ['delete sys/token/id/h1']), 'a root token').toEqual([])
})

it('a root token came back even if the lost entries also counted a use', () => {
  expect(restoredBy(['put sys/token/id/h1'], ['delete sys/token/id/h1'])).toEqual(['token 8'])
  const lastUse = ['put sys/token/id/h1', `new ${expiryAt(EARLIER)}`]
  expect(restoredBy(lastUse, ['delete sys/token/id/h1', `delete ${expiryAt(EARLIER)}`])).toEqual(['token 8'])
})

it('a SecretID whose removal was lost came back, unless the lost entries created it', () => {
  const removed = [`delete ${SECRET_ID}`, `delete ${ACCESSOR}`]
  expect(restoredBy(removed)).toEqual(['secret_id 7'])
  expect(restoredBy([`put ${SECRET_ID}`], removed), 'after another use').toEqual(['secret_id 8'])
  expect(restoredBy([`new ${SECRET_ID}`, `new ${ACCESSOR}`], removed)).toEqual([])
  expect(restoredBy(['delete kv/data/secret_id/app', 'delete sys/policy/p'])).toEqual([])
})
