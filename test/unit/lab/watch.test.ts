import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { nextTurn } from '../../../src/base/turn.js'
import { Watch } from '../../../src/lab/daemon/watch.js'
import { ManualClock } from '../../support/manual-clock.js'
import { until } from '../../support/until.js'

/** Knows whether the lab daemon pauses between two checks. */
class PauseClock extends ManualClock {
  isPause = false

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.isPause = true
    try {
      await super.sleep(ms, signal)
    } finally {
      this.isPause = false
    }
  }
}

/** A watch of one sealed server. `pass` returns the number of checks so far. */
const watchServer = async (isFollowed: () => boolean) => {
  let checks = 0
  const server = http.createServer((_, response) => {
    checks++
    response.end(JSON.stringify({ initialized: true, sealed: true }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const apiAddress = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clock = new PauseClock()
  const watch = new Watch({ clusters: [{ name: 'A', apiAddress }], clock, emit: () => undefined, isFollowed })
  onTestFinished(() => {
    watch.close()
    server.close()
  })
  watch.start()
  const pass = async (seconds: number): Promise<number> => {
    await until(() => clock.isPause)
    for (let second = 0; second < seconds; second++) {
      clock.advance(1000)
      await nextTurn()
      await until(() => clock.isPause)
    }
    return checks
  }
  return { watch, pass, checks: () => checks }
}

it('a quiet lab without followers is checked less often until the next event', async () => {
  const { watch, pass, checks } = await watchServer(() => false)
  const busy = await pass(30)
  const quiet = await pass(40)
  expect(busy).toBeGreaterThanOrEqual(30)
  expect(quiet - busy).toBeLessThanOrEqual(11)
  watch.wake()
  await until(() => checks() === quiet + 1)
  expect(await pass(20)).toBe(quiet + 21)
})

it('a quiet lab is checked every second while a client follows its events', async () => {
  const { pass } = await watchServer(() => true)
  const early = await pass(40)
  expect((await pass(20)) - early).toBe(20)
})
