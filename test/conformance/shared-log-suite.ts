import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Entry } from '../../src/storage/engine/engine.js'
import { decodeBatch, encodeBatch, LOG_START, positionOf } from '../../src/storage/shared-log/raw-batch.js'
import {
  ImageNeeded,
  type Leadership,
  LeadershipLost,
  type LogEntry,
  type LogImage,
  type LogPosition,
  type NodeRecord,
  OutcomeUnknown,
  type SharedLog,
} from '../../src/storage/shared-log/shared-log.js'

/** The connection of one node, with faults. */
export interface LogConnection {
  readonly log: SharedLog
  /** Drops all data in both directions until `heal`. */
  cut(): void
  /** Delivers requests and drops responses until `heal`. */
  loseAnswers(): void
  heal(): void
  /** Suspends the process of the node: its time stops, but its pending requests are answered. */
  freeze(): void
  thaw(): void
}

/** The shared log of one cluster, and its clock. */
export interface SharedLogFixture {
  connect(): Promise<LogConnection>
  /** Advances time until the promise is settled. */
  whenDone<T>(promise: Promise<T>): Promise<T>
  destroy(): Promise<void>
}

export interface SharedLogOptions {
  /** Approximate number of entries that the log keeps. */
  readonly entriesMax?: number
}

const node = (id: string, more: Partial<NodeRecord> = {}): NodeRecord => ({
  id,
  hostname: `host-${id}`,
  apiAddress: `http://${id}:8200`,
  clusterAddress: `https://${id}:8201`,
  version: '1.0.0',
  isSealed: false,
  appliedIndex: 0,
  ...more,
})

const candidate = (id: string) => {
  const { apiAddress, clusterAddress } = node(id)
  return { nodeId: id, apiAddress, clusterAddress }
}

const never = new AbortController().signal

const entryOf = (previous: LogPosition, key: string, value: Buffer | undefined): LogEntry => ({
  index: previous.index + 1,
  bytes: encodeBatch(previous.hash, [{ key, value }]),
})

/** Appends values one after another. Resolves to the position of the last one. */
const appendAll = async (leadership: Leadership, from: LogPosition, texts: readonly string[]): Promise<LogPosition> => {
  let end = from
  for (const text of texts) {
    const entry = entryOf(end, `key-${text}`, Buffer.from(text))
    await leadership.append(entry.index, entry.bytes)
    end = positionOf(entry)
  }
  return end
}

const textOf = (entry: LogEntry): string => String(decodeBatch(entry)[0]?.value)

/** Reads the texts of the `count` entries after a position. */
const read = async (log: SharedLog, after: LogPosition, count: number): Promise<string[]> => {
  const found: string[] = []
  const done = new AbortController()
  if (count === 0) return found
  for await (const entry of log.follow(after, done.signal)) {
    found.push(textOf(entry))
    if (found.length === count) done.abort()
  }
  return found
}

/** Tests the behavior of a shared log. */
export const describeSharedLog = (
  name: string,
  createFixture: (options: SharedLogOptions) => Promise<SharedLogFixture>,
): void => {
  describe(`a shared log (${name})`, () => {
    let fixture: SharedLogFixture
    let a: LogConnection
    let b: LogConnection

    const begin = async (options: SharedLogOptions = {}): Promise<void> => {
      fixture = await createFixture(options)
      a = await fixture.connect()
      b = await fixture.connect()
    }
    const lead = (connection: LogConnection, id: string): Promise<Leadership> =>
      fixture.whenDone(connection.log.campaign(candidate(id), never))

    beforeEach(() => begin())
    afterEach(() => fixture.destroy())

    it('a shared log elects one leader and reports it to every node', async () => {
      expect(a.log.leader).toBeUndefined()
      const leadership = await lead(a, 'a')
      expect(leadership.isHeld).toBe(true)
      expect(leadership.end).toEqual(LOG_START)
      expect(await b.log.lastIndex(never)).toBe(0)
      await expect.poll(() => b.log.leader).toMatchObject({ ...candidate('a'), term: leadership.term })
      await expect.poll(() => a.log.leader).toEqual(b.log.leader)
    })

    it('after the leader of a shared log resigns, another node leads with a larger term', async () => {
      const first = await lead(a, 'a')
      const leaderIds: (string | undefined)[] = []
      const unsubscribe = b.log.onLeader((leader) => leaderIds.push(leader?.nodeId))
      const waiting = b.log.campaign(candidate('b'), never)
      await first.resign()
      expect(first.isHeld).toBe(false)
      expect(await first.lost).toContain('resigned')
      const second = await fixture.whenDone(waiting)
      expect(second.term).toBeGreaterThan(first.term)
      await expect.poll(() => leaderIds.at(-1)).toBe('b')
      unsubscribe()
      await expect(first.append(1, entryOf(LOG_START, 'k', Buffer.from('x')).bytes)).rejects.toThrow(LeadershipLost)
    })

    it('a campaign in a shared log ends with the reason of its signal', async () => {
      await lead(a, 'a')
      const stop = new AbortController()
      const waiting = b.log.campaign(candidate('b'), stop.signal)
      stop.abort(new Error('it is enough'))
      await expect(waiting).rejects.toThrow('it is enough')
    })

    it('a shared log keeps the order of concurrent appends', async () => {
      const leadership = await lead(a, 'a')
      let end = leadership.end
      const entries = Array.from({ length: 20 }, (_, at) => {
        const entry = entryOf(end, 'k', Buffer.from(String(at)))
        end = positionOf(entry)
        return entry
      })
      const done: number[] = []
      await Promise.all(entries.map(({ index, bytes }) => leadership.append(index, bytes).then(() => done.push(index))))
      expect(done).toEqual(entries.map(({ index }) => index))
      expect(await read(b.log, LOG_START, 20)).toEqual(entries.map((_, at) => String(at)))
    })

    it('a shared log keeps entries unchanged, including empty and large values', async () => {
      const leadership = await lead(a, 'a')
      const large = Buffer.alloc(5 * 1024 * 1024, 'large')
      let end = leadership.end
      const sent: LogEntry[] = []
      for (const value of [Buffer.alloc(0), undefined, large, Buffer.from('after')]) {
        const entry = entryOf(end, 'ключ', value)
        await leadership.append(entry.index, entry.bytes)
        sent.push(entry)
        end = positionOf(entry)
      }
      const done = new AbortController()
      const found: LogEntry[] = []
      for await (const entry of b.log.follow(LOG_START, done.signal)) {
        found.push(entry)
        if (found.length === sent.length) done.abort()
      }
      expect(found.map(({ index }) => index)).toEqual([1, 2, 3, 4])
      for (const [at, { bytes }] of found.entries()) expect(bytes.equals(sent[at]?.bytes ?? LOG_START.hash)).toBe(true)
    })

    it('a node follows a shared log from any index while appends continue', async () => {
      const leadership = await lead(a, 'a')
      const third = await appendAll(leadership, LOG_START, ['1', '2', '3'])
      const following = read(b.log, third, 3)
      const end = await appendAll(leadership, third, ['4', '5', '6'])
      expect(await following).toEqual(['4', '5', '6'])
      expect(await read(a.log, LOG_START, 6)).toEqual(['1', '2', '3', '4', '5', '6'])
      expect(await read(b.log, end, 0)).toEqual([])
    })

    it('a reader of a shared log ends with its signal while it waits', async () => {
      const stop = new AbortController()
      const following = (async () => {
        for await (const entry of b.log.follow(LOG_START, stop.signal)) throw new Error(`entry ${entry.index}`)
      })()
      stop.abort()
      await following
    })

    it('a new leader receives the end of a shared log', async () => {
      const first = await lead(a, 'a')
      const end = await appendAll(first, LOG_START, ['1', '2', '3'])
      await first.resign()
      const second = await lead(b, 'b')
      expect(second.end).toEqual(end)
      await appendAll(second, end, ['4'])
      expect(await read(a.log, LOG_START, 4)).toEqual(['1', '2', '3', '4'])
      expect(await a.log.lastIndex(never)).toBe(4)
    })

    it('a shared log rejects a reader from a position that it does not contain', async () => {
      const leadership = await lead(a, 'a')
      const end = await appendAll(leadership, LOG_START, ['1', '2'])
      const foreign = { index: 2, hash: Buffer.alloc(LOG_START.hash.length, 7) }
      await expect(read(b.log, foreign, 1)).rejects.toThrow(ImageNeeded)
      await expect(read(b.log, { ...end, index: 9 }, 1)).rejects.toThrow(ImageNeeded)
      const positions = [
        LOG_START,
        end,
        foreign,
        { ...end, index: 9 },
        { ...end, index: 0 },
        { ...LOG_START, index: 2 },
      ]
      const reached = await Promise.all(positions.map((position) => b.log.reaches(position, never)))
      expect(reached).toEqual([true, true, false, false, false, false])
    })

    it('a shared log has an image for nodes that its entries no longer reach', async () => {
      await fixture.destroy()
      await begin({ entriesMax: 8 })
      const leadership = await lead(a, 'a')
      let end = await appendAll(
        leadership,
        LOG_START,
        Array.from({ length: 30 }, (_, at) => `${at}`),
      )
      const deletion = entryOf(end, 'key-3', undefined)
      await leadership.append(deletion.index, deletion.bytes)
      end = positionOf(deletion)
      await expect.poll(() => b.log.reaches(LOG_START, never)).toBe(false)
      await expect(read(b.log, LOG_START, 1)).rejects.toThrow(ImageNeeded)
      const image = await b.log.readImage(never)
      expect(image.position.index).toBeGreaterThan(0)
      // Entries are appended during the read.
      await appendAll(
        leadership,
        end,
        Array.from({ length: 60 }, (_, at) => `later ${at}`),
      )
      await expect.poll(() => b.log.reaches(image.position, never)).toBe(false)
      const copy = new Map<string, string>()
      for await (const chunk of image.chunks()) for (const { key, value } of chunk) copy.set(key, String(value))
      let applied = image.position.index
      for await (const entry of image.rest()) {
        for (const { key, value } of decodeBatch(entry)) {
          if (value) copy.set(key, String(value))
          else copy.delete(key)
        }
        applied = entry.index
      }
      expect(applied).toBe(end.index)
      const expected = Array.from({ length: 30 }, (_, at) => [`key-${at}`, `${at}`]).filter(([key]) => key !== 'key-3')
      expect(Object.fromEntries(copy)).toEqual(Object.fromEntries(expected))
    })

    it('replaced content of a shared log hides all earlier entries, and appends continue after it', async () => {
      const leadership = await lead(a, 'a')
      const before = await appendAll(leadership, LOG_START, ['1', '2'])
      const following = read(b.log, before, 1)
      const refused = expect(following).rejects.toThrow(ImageNeeded)
      const large = Buffer.alloc(3 * 1024 * 1024, 'large')
      const begun = await leadership.replace(chunksOf([entry('kept', 'new'), { key: 'large', value: large }]))
      await refused
      expect(begun.index).toBe(3)
      expect(leadership.end).toEqual(begun)
      expect(await Promise.all([LOG_START, before, begun].map((position) => b.log.reaches(position, never)))).toEqual([
        false,
        false,
        true,
      ])
      await appendAll(leadership, begun, ['4'])
      expect(await read(b.log, begun, 1)).toEqual(['4'])
      const image = await b.log.readImage(never)
      expect(image.position).toMatchObject(begun)
      expect(await contentOf(image)).toEqual({ kept: 'new', large: String(large) })
      const end = leadership.end
      await leadership.resign()
      const second = await lead(b, 'b')
      expect(second.end).toEqual(end)
      const again = await second.replace(chunksOf([entry('last', 'one')]))
      expect(await contentOf(await a.log.readImage(never))).toEqual({ last: 'one' })
      await appendAll(second, again, ['6'])
      expect(await read(a.log, again, 1)).toEqual(['6'])
    })

    it('an empty shared log accepts empty content before the first append', async () => {
      const leadership = await lead(a, 'a')
      const begun = await leadership.replace(chunksOf([]))
      expect(await contentOf(await b.log.readImage(never))).toEqual({})
      expect(await b.log.reaches(LOG_START, never)).toBe(false)
      await appendAll(leadership, begun, ['2'])
    })

    it('a node that was stopped past its lease cannot replace the content of a shared log', async () => {
      const first = await lead(a, 'a')
      const end = await appendAll(first, LOG_START, ['1'])
      a.freeze()
      const second = await lead(b, 'b')
      await expect(first.replace(chunksOf([entry('late', 'late')]))).rejects.toThrow(LeadershipLost)
      expect(first.isHeld).toBe(false)
      await appendAll(second, end, ['2'])
      a.thaw()
      expect(await read(a.log, LOG_START, 2)).toEqual(['1', '2'])
    })

    it('a shared log lists the live nodes', async () => {
      await a.log.announce(node('a', { appliedIndex: 5 }))
      await b.log.announce(node('b'))
      await b.log.announce(node('b', { isSealed: true }))
      expect(await a.log.nodes()).toMatchObject([node('a', { appliedIndex: 5 }), node('b', { isSealed: true })])
      await a.log.close()
      await expect.poll(async () => (await b.log.nodes()).map(({ id }) => id)).toEqual(['b'])
    })

    it('a shared log lists no node that is cut off, and lists it again after it returns', async () => {
      await a.log.announce(node('a'))
      await b.log.announce(node('b'))
      a.cut()
      const isAlone = async () => (await b.log.nodes()).length === 1
      await fixture.whenDone(waitFor(isAlone))
      a.heal()
      await fixture.whenDone(waitFor(async () => !(await isAlone())))
    })

    it('a leader cut off from a shared log no longer holds the leadership before another node leads', async () => {
      const first = await lead(a, 'a')
      const end = await appendAll(first, LOG_START, ['1'])
      a.cut()
      let wasHeld: boolean | undefined
      const taken = b.log.campaign(candidate('b'), never).then((leadership) => {
        wasHeld = first.isHeld
        return leadership
      })
      const second = await fixture.whenDone(taken)
      expect(wasHeld).toBe(false)
      expect(await fixture.whenDone(first.lost)).toContain('could not be renewed')
      await expect(first.append(2, entryOf(end, 'k', Buffer.from('lost')).bytes)).rejects.toThrow(LeadershipLost)
      await appendAll(second, end, ['2'])
      a.heal()
      expect(await read(a.log, LOG_START, 2)).toEqual(['1', '2'])
      await expect.poll(() => a.log.leader?.nodeId).toBe('b')
    })

    it('a leader that was stopped past its lease cannot append to a shared log', async () => {
      const first = await lead(a, 'a')
      const end = await appendAll(first, LOG_START, ['1'])
      a.freeze()
      const second = await lead(b, 'b')
      expect(first.isHeld).toBe(true)
      const late = first.append(2, entryOf(end, 'k', Buffer.from('late')).bytes)
      await expect(late).rejects.toThrow(LeadershipLost)
      expect(first.isHeld).toBe(false)
      await appendAll(second, end, ['2'])
      a.thaw()
      expect(await read(a.log, LOG_START, 2)).toEqual(['1', '2'])
    })

    it('an append whose response is lost has an unknown outcome, though it happened', async () => {
      const first = await lead(a, 'a')
      const end = await appendAll(first, LOG_START, ['1'])
      a.loseAnswers()
      const entry = entryOf(end, 'k', Buffer.from('happened'))
      const appended = first.append(entry.index, entry.bytes)
      const behind = first.append(3, entryOf(positionOf(entry), 'k', Buffer.from('behind')).bytes)
      await expect(fixture.whenDone(Promise.allSettled([appended, behind]))).resolves.toMatchObject([
        { reason: expect.any(OutcomeUnknown) },
        { reason: expect.any(LeadershipLost) },
      ])
      expect(first.isHeld).toBe(false)
      const second = await lead(b, 'b')
      expect(second.end).toEqual(positionOf(entry))
      expect(await read(b.log, LOG_START, 2)).toEqual(['1', 'happened'])
      a.heal()
    })

    it('an append whose request is lost has an unknown outcome', async () => {
      const first = await lead(a, 'a')
      const end = await appendAll(first, LOG_START, ['1'])
      a.cut()
      const appended = first.append(2, entryOf(end, 'k', Buffer.from('held up')).bytes)
      await expect(fixture.whenDone(appended)).rejects.toThrow(OutcomeUnknown)
      const second = await lead(b, 'b')
      a.heal()
      await appendAll(second, end, ['2'])
      expect(await read(a.log, LOG_START, 2)).toEqual(['1', '2'])
    })

    it('a leader of a shared log keeps its leadership and pending appends during a short interruption', async () => {
      const first = await lead(a, 'a')
      a.cut()
      const entry = entryOf(LOG_START, 'k', Buffer.from('1'))
      const appended = first.append(entry.index, entry.bytes)
      a.heal()
      await fixture.whenDone(appended)
      expect(first.isHeld).toBe(true)
      expect(await read(b.log, LOG_START, 1)).toEqual(['1'])
    })

    it('requests to an unreachable shared log end with the reason of their signal', async () => {
      a.cut()
      const stop = new AbortController()
      const asked = [a.log.lastIndex(stop.signal), a.log.reaches(LOG_START, stop.signal), a.log.readImage(stop.signal)]
      const answers = Promise.allSettled(asked)
      stop.abort('it is enough')
      const ended = { status: 'rejected', reason: 'it is enough' }
      expect(await answers).toEqual([ended, ended, ended])
    })

    it('a closed shared log releases its leadership', async () => {
      const first = await lead(a, 'a')
      await a.log.close()
      expect(first.isHeld).toBe(false)
      expect((await lead(b, 'b')).isHeld).toBe(true)
    })
  })
}

const entry = (key: string, text: string): Entry => ({ key, value: Buffer.from(text) })

async function* chunksOf(entries: readonly Entry[]): AsyncGenerator<readonly Entry[]> {
  for (const one of entries) yield [one]
}

const contentOf = async (image: LogImage): Promise<Record<string, string>> => {
  const found: Record<string, string> = {}
  for await (const chunk of image.chunks()) for (const { key, value } of chunk) found[key] = String(value)
  return found
}

/** Polls once in each turn of the event loop. */
const waitFor = async (fact: () => Promise<boolean>): Promise<void> => {
  while (!(await fact())) await new Promise((resolve) => setTimeout(resolve, 2))
}
