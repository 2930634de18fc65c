import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { silentLog } from '../../../src/base/log.js'
import { nextTurn } from '../../../src/base/turn.js'
import { MessageStream } from '../../../src/replication/rpc/message-stream.js'
import type { ReceivedDown, ResyncNeeded, StreamUp } from '../../../src/replication/rpc/messages.js'
import { MESSAGE_TIMEOUT_MS } from '../../../src/replication/secondary/message-timeout.js'
import { RecentFrames } from '../../../src/replication/model/recent-frames.js'
import { StreamReader } from '../../../src/replication/secondary/stream-reader.js'
import type { SecondaryHooks } from '../../../src/replication/model/types.js'
import { openStore, put } from '../../support/replication-fixture.js'

/** A follower ends a connection if its primary owes a message and sends none. */

class SilentCall extends EventEmitter {
  write(_message: StreamUp, done: () => void): boolean {
    done()
    return true
  }
  pause(): void {}
  resume(): void {}
}

const silence = () => new Promise<never>(() => undefined)

const hooks = {
  servesReads: () => true,
  beforeState: async () => undefined,
  onSynced: async () => undefined,
} as unknown as SecondaryHooks

/** Starts a reader at the end of its primary's log, or without a position, and returns how its stream ended. */
const begin = async ({ isPlaced = false, lagMs = 0 }) => {
  const clock = new ManualClock()
  const [primary, store] = [await openStore(), await openStore()]
  for (let n = 0; n < 200; n++) await put(store, `logical/x/${n}`, 'own')
  const place = isPlaced ? { ...primary.position, epoch: 'e' } : undefined
  if (place) await store.applyEntries([], place)
  const call = new SilentCall()
  const stream = new MessageStream<StreamUp, ReceivedDown>(call, () => undefined)
  const connection = { call: silence, fetchKeys: async function* () {} }
  const nothing = () => undefined
  const reader = new StreamReader(connection, stream, {
    ...{
      kind: 'dr',
      store,
      hooks,
      log: silentLog,
      clock,
      epoch: 'e',
      recent: new RecentFrames(),
      importBytes: 1 << 21,
    },
    ...{ who: () => ({}) as never, lagMs: () => lagMs },
    ...{ enter: nothing, onProgress: nothing, onAnnounced: nothing, onApplied: nothing, onAddresses: nothing },
  })
  const signal = new AbortController().signal
  const ended = reader.run(place, [], signal).catch((error: unknown) => String(error))
  const pass = async (ms: number) => {
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    clock.advance(ms)
    for (let turn = 0; turn < 20; turn++) await nextTurn()
  }
  return { call, stream, ended, pass }
}

const OFFER = {
  message: 'resync',
  resync: {
    ...{ session: '1', position: null, replicated_root: Buffer.alloc(20, 1), local_root: Buffer.alloc(20, 1) },
    ...{ is_filtered: false, filtered_digest: Buffer.alloc(0), reason: '', is_filter_new: false, rule: '' },
  } satisfies ResyncNeeded,
} as unknown as ReceivedDown

test('a stream without a first response is reopened after 30 s', async () => {
  const { stream, ended, pass } = await begin({})
  await pass(MESSAGE_TIMEOUT_MS - 1)
  expect(stream.ended.aborted).toBe(false)
  await pass(1)
  expect(await ended).toContain('has sent nothing for 30 s')
})

test('a comparison without a response is restarted after 30 s', async () => {
  const { call, stream, pass } = await begin({})
  await pass(1_000)
  call.emit('data', OFFER)
  await pass(MESSAGE_TIMEOUT_MS - 1)
  expect(stream.ended.aborted).toBe(false)
  await pass(1)
  expect(String(stream.ended.reason)).toContain('has sent nothing for 30 s')
})

test('a stream whose announced entries do not arrive is reopened after 30 s', async () => {
  const { ended, pass } = await begin({ isPlaced: true, lagMs: MESSAGE_TIMEOUT_MS })
  await pass(MESSAGE_TIMEOUT_MS)
  expect(await ended).toContain('has sent nothing for 30 s')
})

test('an idle stream with nothing to send stays open', async () => {
  const { stream, pass } = await begin({ isPlaced: true })
  await pass(10 * MESSAGE_TIMEOUT_MS)
  expect(stream.ended.aborted).toBe(false)
  stream.end()
})
