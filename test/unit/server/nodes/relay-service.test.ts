import { expect, test, vi } from 'vitest'
import { systemClock } from '../../../../src/base/clock.js'
import { silentLog } from '../../../../src/base/log.js'
import { ResponseBudget } from '../../../../src/http/limits/response-budget.js'
import { encodeRelayed } from '../../../../src/replication/forwarding/relayed-request.js'
import { refusalCodeOf } from '../../../../src/replication/rpc/refusal.js'
import { memberCommonName } from '../../../../src/server/nodes/node-authority.js'
import { createRelayService } from '../../../../src/server/nodes/relay-service.js'
import { RequestQueue } from '../../../../src/server/runtime/admission.js'
import { request } from './request.js'

/** How the active node handles calls of standbys. */

test('a large response keeps its budget until its call has ended', async () => {
  const room = new ResponseBudget(systemClock, { bytesMax: 100 })
  const entered: boolean[] = []
  const service = createRelayService({
    serve: async ({ responseBudget }) => {
      entered.push(responseBudget?.tryEnter(80) ?? true)
      return { status: 204, contentType: 'application/json', headers: {}, body: '' }
    },
    reservationForCall: (ended) => room.reservationForCall(ended),
    appliedIndex: () => 0,
    isRevoked: () => false,
    log: silentLog,
  })
  const payload = await encodeRelayed({ request: request('read'), asks: 'answer', waitMs: 60_000 })
  const calls = [new AbortController(), new AbortController(), new AbortController()]
  for (const [number, call] of calls.entries()) {
    if (number === 2) calls[0]?.abort()
    await service.forward({ commonName: 'B', gone: call.signal }, { who: null, payload })
  }
  expect(entered).toEqual([true, false, true])
})

test('the certificate of an etcd member opens no cluster port, and a removed node learns of its removal', async () => {
  const service = createRelayService({
    serve: async () => ({ status: 204, contentType: 'application/json', headers: {}, body: '' }),
    reservationForCall: (ended) => new ResponseBudget(systemClock, { bytesMax: 100 }).reservationForCall(ended),
    appliedIndex: () => 0,
    isRevoked: (serial) => serial === '7b',
    log: silentLog,
  })
  const payload = await encodeRelayed({ request: request('read'), asks: 'answer', waitMs: 60_000 })
  const codeOf = (commonName: string) =>
    service.forward({ commonName, gone: new AbortController().signal }, { who: null, payload }).then(
      () => 'answered',
      (error: unknown) => refusalCodeOf(error),
    )
  const names = ['e1b2', memberCommonName('7a'), memberCommonName('7b')]
  expect(await Promise.all(names.map(codeOf))).toEqual(['answered', 'forbidden', 'revoked'])
})

test('a waiting request is dropped when its caller disconnects', async () => {
  const waiting = new RequestQueue({ clock: systemClock, waitMs: 60_000 })
  const room = new ResponseBudget(systemClock, { bytesMax: 100 })
  const service = createRelayService({
    serve: async (relayed) => {
      await waiting.pass(relayed, () => true)
      return { status: 204, contentType: 'application/json', headers: {}, body: '' }
    },
    reservationForCall: (ended) => room.reservationForCall(ended),
    appliedIndex: () => 0,
    isRevoked: () => false,
    log: silentLog,
  })
  const payload = await encodeRelayed({ request: request('update'), asks: 'answer', waitMs: 60_000 })
  const call = new AbortController()
  const answered = service.forward({ commonName: 'B', gone: call.signal }, { who: null, payload })
  await vi.waitFor(() => expect(waiting.size).toBe(1))
  call.abort()
  await answered
  expect(waiting.size).toBe(0)
})
