import { describe, expect, it } from 'vitest'
import { BodyRoom } from '../../../src/http/body-room.js'
import type { BodyAllowance } from '../../../src/logical/incoming.js'
import { startFront } from './front-fixture.js'
import { RawClient } from './raw-client.js'

const KIB = 1024
const never = new AbortController().signal

describe('the room for request bodies', () => {
  it('ends the body that began first when those of unknown senders are too many', () => {
    const room = new BodyRoom({ openBytesMax: 100 })
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

  it('lets a large body wait until there is room for all of it, in the order of their coming', async () => {
    const room = new BodyRoom({ largeBytesMax: 100 })
    const leave = await room.enter(80, never)
    const admitted: number[] = []
    const next = [60, 10].map((bytes) => room.enter(bytes, never).then(() => admitted.push(bytes)))
    await Promise.resolve()
    expect(admitted).toEqual([])
    leave()
    leave()
    await Promise.all(next)
    expect(admitted).toEqual([60, 10])
  })

  it('takes one that is larger than the room when it is empty', async () => {
    const room = new BodyRoom({ largeBytesMax: 100 })
    const leave = await room.enter(1000, never)
    const waiting = room.enter(1, never)
    leave()
    await waiting
  })

  it('forgets those who went away while they waited, and refuses too many with 503', async () => {
    const room = new BodyRoom({ largeBytesMax: 1, largeWaitingMax: 1 })
    const leave = await room.enter(1, never)
    const gone = new AbortController()
    const waiting = room.enter(1, gone.signal)
    await expect(room.enter(1, never)).rejects.toMatchObject({ code: 'unavailable' })
    gone.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    leave()
    await room.enter(1, never)
  })
})

describe('a body that is larger than anybody may send', () => {
  const allowance: BodyAllowance = { bytesMax: 200 * KIB, valuesMax: 10, isAuthorised: true }
  const asked: string[] = []
  const start = (allowed: BodyAllowance = allowance) =>
    startFront({
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

  it('is read when its sender may, whether it says its size or not', async () => {
    await using front = await start()
    for (const way of [sized, chunked]) {
      expect(await way(front.address, text(150 * KIB))).toEqual({ status: 200, body: { size: 150 * KIB } })
      expect((await way(front.address, text(250 * KIB))).status).toBe(413)
    }
    expect(asked.splice(0)).toEqual(Array(4).fill('t/a t n'))
  })

  it('is not asked about while it is small', async () => {
    await using front = await start()
    for (const way of [sized, chunked]) {
      expect(await way(front.address, text(60 * KIB))).toEqual({ status: 200, body: { size: 60 * KIB } })
    }
    expect(asked).toEqual([])
  })

  it('is refused as the answer says, and what serves the path may say something else', async () => {
    await using front = await start({ ...allowance, bytesMax: 64 * KIB, isAuthorised: false })
    for (const way of [sized, chunked]) {
      expect(await way(front.address, text(150 * KIB))).toEqual({
        status: 413,
        body: { errors: ['http: request body too large'] },
      })
    }
  })

  it('holds no more than its sender may send', async () => {
    await using front = await start()
    const many = `{"k":[${'0,'.repeat(50 * KIB)}0]}`
    expect(await sized(front.address, many)).toEqual({
      status: 400,
      body: { errors: ['error parsing JSON: more than 10 members and elements'] },
    })
  })

  it('waits unread while there is no room, and gives its place back', async () => {
    const room = new BodyRoom({ largeBytesMax: 150 * KIB })
    await using front = await startFront({ bodies: room })
    const leave = await room.enter(150 * KIB, never)
    const answer = sized(front.address, text(100 * KIB))
    const second = sized(front.address, text(100 * KIB))
    leave()
    expect((await answer).status).toBe(200)
    expect((await second).status).toBe(200)
    await room.enter(150 * KIB, never)
  })
})
