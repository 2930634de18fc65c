import { expect, test } from 'vitest'
import { silentLog } from '../../../src/base/log.js'
import { KeyRotation } from '../../../src/core/system/key-rotation.js'
import { createSeal, initWith } from '../../support/seal-fixture.js'

/** The automatic rotation of the encryption key, with a real barrier. */
const open = async ({ mayRotate = true } = {}) => {
  const fixture = await createSeal()
  const { keys } = await initWith(fixture, { secret_shares: 1, secret_threshold: 1 })
  await fixture.call('update', 'unseal', { key: keys[0] ?? '' })
  const { barrier, clock } = fixture
  let more = 0
  const counted = {
    get activeTerm() {
      return barrier.activeTerm
    },
    get encryptions() {
      return barrier.encryptions + more
    },
    rotate: () => barrier.rotate(),
  }
  const rotation = new KeyRotation({
    storage: barrier.view(''),
    barrier: counted,
    mayRotate: () => mayRotate,
    clock,
    log: silentLog,
  })
  const encrypt = (times: number) => {
    more += times
  }
  return { rotation, barrier, clock, encrypt }
}

const HOUR_MS = 3_600_000
const CHECK_MS = 600_000

test('the key rotates at its maximum age, while the cluster is open', async () => {
  const { rotation, barrier, clock } = await open()
  await rotation.configure({ ...rotation.config, intervalSeconds: 86_400 })
  const stop = new AbortController()
  rotation.start(stop.signal)
  /** Advances the clock to the next check, and waits for its end. */
  const checkAfter = async (ms: number) => {
    clock.advance(ms - CHECK_MS)
    await rotation.stop()
    clock.advance(CHECK_MS)
    await rotation.stop()
    return barrier.activeTerm.term
  }
  expect(await checkAfter(23 * HOUR_MS)).toBe(1)
  expect(await checkAfter(HOUR_MS)).toBe(2)
  stop.abort()
  expect(await checkAfter(48 * HOUR_MS)).toBe(2)
})

test('the key rotates after its maximum number of encryptions, which starts again with each key', async () => {
  const { rotation, barrier, encrypt } = await open()
  await rotation.configure({ ...rotation.config, maxOperations: 1_000_000 })
  encrypt(999_000)
  await rotation.rotateIfDue()
  expect(barrier.activeTerm.term).toBe(1)
  encrypt(1000)
  await rotation.rotateIfDue()
  expect(barrier.activeTerm.term).toBe(2)
  await rotation.rotateIfDue()
  encrypt(999_000)
  await rotation.rotateIfDue()
  expect(barrier.activeTerm.term).toBe(2)
})

test.each([
  ['a disabled rotation', { enabled: false }, true],
  ['a secondary, which has the key of its primary,', {}, false],
])('%s never rotates the key', async (_name, change, mayRotate) => {
  const { rotation, barrier, encrypt } = await open({ mayRotate })
  await rotation.configure({ ...rotation.config, maxOperations: 1_000_000, ...change })
  encrypt(2_000_000)
  await rotation.rotateIfDue()
  expect(barrier.activeTerm.term).toBe(1)
})
