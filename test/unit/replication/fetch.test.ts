import { expect, it } from 'vitest'
import { fetchSubPages } from '../../../src/replication/secondary/fetch.js'
import type { FetchKeysReply } from '../../../src/replication/rpc/messages.js'
import type { DiffCall } from '../../../src/replication/secondary/diff.js'
import { parsePeer, toPeerMessage } from '../../../src/replication/rpc/peer-identity.js'
import { Packer } from '../../../src/storage/sync/packed.js'
import { bytes, openFixture } from '../storage/fixture.js'

const unasked = () => Promise.reject(new Error('not asked for'))

it.each(['sys/token/x', 'core/replication/purge'])(
  'an entry of another tree than the requested one is rejected: %s',
  async (key) => {
    const { store } = await openFixture()
    const packer = new Packer(64)
    packer.add(key, bytes('1'))
    const reply: FetchKeysReply = { entries: packer.take(), unknown: [], filtered: [] }
    const connection: DiffCall['connection'] = {
      call: unasked,
      async *fetchKeys() {
        yield reply
      },
    }
    const snapshot = store.snapshot()
    const call = {
      connection,
      session: '1',
      who: () => toPeerMessage(parsePeer(null)),
      signal: new AbortController().signal,
    }
    const steps = fetchSubPages(call, 'replicated', snapshot, [1])
    await expect(steps.next()).rejects.toThrow('of another')
    await snapshot.close()
  },
)
