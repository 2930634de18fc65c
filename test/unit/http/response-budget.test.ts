import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { nextTurn } from '../../../src/base/turn.js'
import { readWithinBudget } from '../../../src/core/pipeline/large-answers.js'
import { ResponseBudget, type AnswerSink } from '../../../src/http/limits/response-budget.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { type ResponseReservation, ROOT_NAMESPACE } from '../../../src/logical/request.js'

/** A client that reads its response when the test says so. */
class Client implements AnswerSink {
  readonly response = Object.assign(new EventEmitter(), { closed: false, writableEnded: false })
  readonly socket = Object.assign(new EventEmitter(), {
    destroyed: false,
    destroy: () => {
      this.socket.destroyed = true
      this.socket.emit('close')
    },
  }) as EventEmitter & { destroyed: boolean; destroy(): void }

  take(): void {
    this.response.closed = true
    this.response.emit('close')
  }
}

const world = (limits = { bytesMax: 100, waitingMax: 2, patienceMs: 5000 }) => {
  const clock = new ManualClock()
  const room = new ResponseBudget(clock, limits)
  const client = () => {
    const sink = new Client()
    return { sink, place: room.reservationFor(sink) }
  }
  return { clock, client }
}

describe('the budget for large responses', () => {
  it('a large response waits until earlier ones are delivered, in FIFO order', async () => {
    const { client } = world()
    const [first, second, third] = [client(), client(), client()]
    expect(first.place.tryEnter(80)).toBe(true)
    expect(second.place.tryEnter(30)).toBe(false)
    const admitted: string[] = []
    const waiting = [
      second.place.enter(30).then(() => admitted.push('second')),
      third.place.enter(10).then(() => admitted.push('third')),
    ]
    expect(client().place.tryEnter(1)).toBe(false)
    first.sink.take()
    await Promise.all(waiting)
    expect(admitted).toEqual(['second', 'third'])
  })

  it('a response that enters again counts with its new size', async () => {
    const { client } = world()
    const [first, second] = [client(), client()]
    expect(first.place.tryEnter(80)).toBe(true)
    expect(first.place.tryEnter(30)).toBe(true)
    expect(second.place.tryEnter(70)).toBe(true)
    const waiting = first.place.enter(40)
    expect(client().place.tryEnter(1)).toBe(false)
    second.sink.take()
    await waiting
    expect(client().place.tryEnter(61)).toBe(false)
    first.sink.take()
    expect(client().place.tryEnter(100)).toBe(true)
  })

  it('waiting responses are read one after the other', async () => {
    const { client } = world()
    const first = client()
    first.place.tryEnter(100)
    await nextTurn()
    let reading = 0
    const read = async (place: typeof first.place) => {
      await place.enter(10)
      expect(++reading).toBe(1)
      for (let step = 0; step < 20; step++) await undefined
      reading--
    }
    const reads = [read(client().place), read(client().place)]
    first.sink.take()
    await Promise.all(reads)
  })

  it('an empty response budget accepts a response above its size', () => {
    const { client } = world()
    expect(client().place.tryEnter(1000)).toBe(true)
    expect(client().place.tryEnter(1)).toBe(false)
  })

  it('the slowest reader of a large response is disconnected while another client waits', async () => {
    const { client, clock } = world()
    const [made, slow, next] = [client(), client(), client()]
    made.place.tryEnter(10)
    slow.place.tryEnter(80)
    slow.sink.response.writableEnded = true
    const waiting = next.place.enter(50)
    await clock.advance(5001)
    await waiting
    expect([made.sink.socket.destroyed, slow.sink.socket.destroyed]).toEqual([false, true])
  })

  it('the response budget removes disconnected clients, and rejects more than its maximum of waiting ones', async () => {
    const { client } = world()
    const [first, second, third] = [client(), client(), client()]
    first.place.tryEnter(100)
    const waiting = second.place.enter(10)
    const other = third.place.enter(10)
    await expect(client().place.enter(10)).rejects.toThrow(LogicalError)
    second.sink.socket.destroy()
    await expect(waiting).rejects.toThrow('the client disconnected')
    first.sink.socket.destroy()
    await other
  })

  it('the response budget reads nothing for a client that left before its turn', async () => {
    const { client } = world()
    const [first, second, third] = [client(), client(), client()]
    first.place.tryEnter(100)
    const waiting = second.place.enter(100)
    first.sink.take()
    second.sink.socket.destroy()
    await expect(waiting).rejects.toThrow('the client disconnected')
    expect(third.place.tryEnter(100)).toBe(true)
  })

  describe('if large responses are expected', () => {
    const ROOMY = { bytesMax: 10_000_000, waitingMax: 10, patienceMs: 5000 }
    const read = (responseBudget: ResponseReservation, run: () => void) =>
      readWithinBudget(
        { operation: 'read', responseBudget, namespace: ROOT_NAMESPACE, path: 'a' },
        async () => run(),
        () => 100_000,
      )

    it('the response budget lets one large read run per turn', async () => {
      const { client } = world(ROOMY)
      await read(client().place, () => undefined)
      let inThisTurn = 0
      const most = { reads: 0 }
      const count = () => {
        most.reads = Math.max(most.reads, ++inThisTurn)
        void nextTurn().then(() => {
          inThisTurn = 0
        })
      }
      await Promise.all(Array.from({ length: 8 }, () => read(client().place, count)))
      expect(most.reads).toBe(1)
    })

    it('an expected large response is not read for a disconnected client', async () => {
      const { client } = world(ROOMY)
      await read(client().place, () => undefined)
      const { sink, place } = client()
      sink.socket.destroy()
      let reads = 0
      await expect(read(place, () => reads++)).rejects.toThrow('the client disconnected')
      expect(reads).toBe(0)
    })
  })
})
