import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { ManualClock } from '../../support/manual-clock.js'
import { nextTurn } from '../../../src/base/turn.js'
import { RequestBodyBudget } from '../../../src/http/limits/request-body-budget.js'
import type { BodyAllowance } from '../../../src/logical/incoming.js'
import { startFace } from './face-fixture.js'
import { RawClient } from './raw-client.js'

const KIB = 1024
const never = () => new AbortController().signal
const stays = () => {
  throw new Error('a body was told to give way')
}

describe('the budget for request bodies', () => {
  it('the oldest body of an unauthenticated sender is rejected if there are too many', () => {
    const room = new RequestBodyBudget(systemClock, { openBytesMax: 100 })
    const ended: string[] = []
    const [slow, , quick] = ['slow', 'second', 'quick'].map((name) => room.begin(() => ended.push(name)))
    slow?.grow(60)
    quick?.grow(30)
    expect(ended).toEqual([])
    quick?.grow(30)
    expect(ended).toEqual(['slow'])
    quick?.end()
    room.begin(() => ended.push('later')).grow(100)
    expect(ended).toEqual(['slow'])
  })

  it('a large body waits until it fits as a whole, in FIFO order', async () => {
    const room = new RequestBodyBudget(systemClock, { largeBytesMax: 100 })
    const { leave } = await room.enter(80, never(), stays)
    const admitted: number[] = []
    const next = [60, 10].map((bytes) => room.enter(bytes, never(), stays).then(() => admitted.push(bytes)))
    await Promise.resolve()
    expect(admitted).toEqual([])
    leave()
    leave()
    await Promise.all(next)
    expect(admitted).toEqual([60, 10])
  })

  it('an empty body budget accepts a body above its size', async () => {
    const room = new RequestBodyBudget(systemClock, { largeBytesMax: 100 })
    const { leave } = await room.enter(1000, never(), stays)
    const waiting = room.enter(1, never(), stays)
    leave()
    await waiting
  })

  it('the body budget removes disconnected clients, and rejects too many with 503', async () => {
    const room = new RequestBodyBudget(systemClock, { largeBytesMax: 1, largeWaitingMax: 1 })
    const { leave } = await room.enter(1, never(), stays)
    const gone = new AbortController()
    const waiting = room.enter(1, gone.signal, stays)
    await expect(room.enter(1, never(), stays)).rejects.toMatchObject({ code: 'unavailable' })
    gone.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    leave()
    await room.enter(1, never(), stays)
  })
})

describe('large bodies that come slowly', () => {
  const LIMITS = { largeBytesMax: 100, largeGraceMs: 5000, largeBytesPerSecondMin: 10 }
  const world = () => {
    const clock = new ManualClock()
    const room = new RequestBodyBudget(clock, LIMITS)
    const evicted: string[] = []
    const enter = (name: string, bytes: number) =>
      room.enter(bytes, never(), ({ code }) => evicted.push(`${name} ${code}`))
    return { clock, evicted, enter }
  }

  it('slow bodies are evicted for waiting ones, the slowest first, and only as many as needed', async () => {
    const { clock, evicted, enter } = world()
    const slow = await enter('slow', 50)
    const slowest = await enter('slowest', 50)
    slow.receive(2)
    slowest.receive(1)
    const next = enter('next', 50)
    clock.advance(5300)
    await next
    expect(evicted).toEqual(['slowest request-timeout'])
    slow.leave()
    slowest.leave()
  })

  it('slow bodies stay until another one waits', async () => {
    const { clock, evicted, enter } = world()
    await enter('slow', 100)
    clock.advance(60_000)
    expect(evicted).toEqual([])
    const next = enter('next', 50)
    clock.advance(0)
    await next
    expect(evicted).toEqual(['slow request-timeout'])
  })

  it('bodies stay if they arrive at the minimum rate, and after they have arrived', async () => {
    const { clock, evicted, enter } = world()
    const place = await enter('first', 100)
    const next = enter('next', 50)
    place.receive(90)
    clock.advance(13_000)
    await nextTurn()
    expect(evicted).toEqual([])
    place.complete()
    clock.advance(60_000)
    await nextTurn()
    expect(evicted).toEqual([])
    place.leave()
    await next
  })
})

describe('a body over the limit of its sender', () => {
  const allowance: BodyAllowance = { bytesMax: 200 * KIB, valuesMax: 10, isAuthorised: true }
  const asked: string[] = []
  const start = (allowed: BodyAllowance = allowance) =>
    startFace({
      allowBody: ({ path, clientToken, namespaceHeader }) => {
        asked.push(`${path} ${clientToken} ${namespaceHeader}`)
        return allowed
      },
      handle: async ({ bodyRefusal, data }) => {
        if (bodyRefusal) throw bodyRefusal
        return { status: 200, contentType: 'application/json', body: `{"size":${String(data.k).length}}`, headers: {} }
      },
    })
  const text = (size: number) => `{"k":"${'x'.repeat(size)}"}`
  const send = async (address: string, head: string, ...pieces: string[]) => {
    const client = await RawClient.connect(address)
    await client.send(`PUT /v1/t/a HTTP/1.1\r\nHost: a\r\nX-Vault-Token: t\r\nX-Vault-Namespace: n\r\n${head}\r\n\r\n`)
    for (const piece of pieces) await client.send(piece)
    const answer = await client.answer()
    client.destroy()
    return { status: answer?.status, body: JSON.parse(answer?.body ?? '{}') }
  }
  const sized = (address: string, body: string) => send(address, `Content-Length: ${body.length}`, body)
  const chunked = (address: string, body: string) => {
    const pieces = body.match(/[\s\S]{1,4096}/g) ?? []
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    return send(address, 'Transfer-Encoding: chunked', ...chunks, '0\r\n\r\n')
  }

  it('a large body is read if its sender may send it, with or without a declared size', async () => {
    await using face = await start()
    for (const way of [sized, chunked]) {
      expect(await way(face.address, text(150 * KIB))).toEqual({ status: 200, body: { size: 150 * KIB } })
      expect((await way(face.address, text(250 * KIB))).status).toBe(413)
    }
    expect(asked.splice(0)).toEqual(Array(4).fill('t/a t n'))
  })

  it('a small body needs no check of its sender', async () => {
    await using face = await start()
    for (const way of [sized, chunked]) {
      expect(await way(face.address, text(60 * KIB))).toEqual({ status: 200, body: { size: 60 * KIB } })
    }
    expect(asked).toEqual([])
  })

  it('a large body gets the limit of its sender, which the endpoint may override', async () => {
    await using face = await start({ ...allowance, bytesMax: 64 * KIB, isAuthorised: false })
    for (const way of [sized, chunked]) {
      expect(await way(face.address, text(150 * KIB))).toEqual({
        status: 413,
        body: { errors: ['http: request body too large'] },
      })
    }
  })

  it('a large body holds at most what its sender may send', async () => {
    await using face = await start()
    const many = `{"k":[${'0,'.repeat(50 * KIB)}0]}`
    expect(await sized(face.address, many)).toEqual({
      status: 400,
      body: { errors: ['error parsing JSON: more than 10 members and elements'] },
    })
  })

  it('a large body waits unread without free budget, and releases its reservation', async () => {
    const room = new RequestBodyBudget(systemClock, { largeBytesMax: 150 * KIB })
    await using face = await startFace({ bodies: room })
    const { leave } = await room.enter(150 * KIB, never(), stays)
    const answer = sized(face.address, text(100 * KIB))
    const second = sized(face.address, text(100 * KIB))
    leave()
    expect((await answer).status).toBe(200)
    expect((await second).status).toBe(200)
    await room.enter(150 * KIB, never(), stays)
  })

  it('a slow large body gets 408 while another one waits', async () => {
    const clock = new ManualClock()
    const bodies = new RequestBodyBudget(clock, { largeBytesMax: 150 * KIB })
    let entering = 0
    await using face = await startFace({
      bodies,
      allowBody: () => {
        entering++
        return allowance
      },
    })
    const slow = await RawClient.connect(face.address)
    await slow.send('PUT /v1/t/a HTTP/1.1\r\nHost: a\r\nContent-Length: 102400\r\n\r\n{')
    while (entering < 1) await nextTurn()
    const quick = sized(face.address, text(100 * KIB))
    while (entering < 2) await nextTurn()
    await nextTurn()
    clock.advance(5001)
    expect((await slow.answer())?.status).toBe(408)
    expect((await quick).status).toBe(200)
    slow.destroy()
  })
})
