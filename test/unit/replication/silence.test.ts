import { expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { nextTurn } from '../../../src/base/turn.js'
import { cutWhenSilent } from '../../../src/replication/rpc/grpc/silence.js'

const TIMES = { keepaliveTimeMs: 500, keepaliveTimeoutMs: 500 }
const LIMIT_MS = 1000
const STEP_MS = 50
const MIB = 1024 * 1024

/** A connection with simulated traffic, on a clock that advances in small steps. */
const watch = () => {
  const clock = new ManualClock()
  const socket = {
    bytesRead: 0,
    bytesWritten: 0,
    isCut: false,
    once: () => socket,
    destroy: () => {
      socket.isCut = true
      return socket
    },
  }
  cutWhenSilent(socket as never, { clock, times: TIMES, roundTripMs: 0 })
  const pass = async (ms: number, each: () => void = () => undefined) => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      each()
      clock.advance(STEP_MS)
      for (let turn = 0; turn < 3; turn++) await nextTurn()
    }
  }
  return { socket, pass }
}

it('a connection without a byte for both keepalive times is cut', async () => {
  const { socket, pass } = watch()
  await pass(LIMIT_MS - STEP_MS)
  expect(socket.isCut).toBe(false)
  await pass(4 * STEP_MS)
  expect(socket.isCut).toBe(true)
})

it('a connection lasts while single bytes arrive', async () => {
  const { socket, pass } = watch()
  await pass(20_000, () => {
    socket.bytesRead++
  })
  expect(socket.isCut).toBe(false)
})

it('a peer that was sent 16 MiB may be silent for eight seconds', async () => {
  const { socket, pass } = watch()
  // The peer acknowledges what it reads until it has read everything.
  await pass(400, () => {
    socket.bytesWritten += 2 * MIB
    socket.bytesRead += 13
  })
  await pass(LIMIT_MS + 7000)
  expect(socket.isCut).toBe(false)
  await pass(1500)
  expect(socket.isCut).toBe(true)
})

it('a peer that responded after a large message has no additional time', async () => {
  const { socket, pass } = watch()
  await pass(10_000, () => {
    socket.bytesWritten = 16 * MIB
    socket.bytesRead++
  })
  await pass(LIMIT_MS + 4 * STEP_MS)
  expect(socket.isCut).toBe(true)
})

it('the additional time is limited to that of the largest message', async () => {
  const { socket, pass } = watch()
  await pass(50, () => {
    socket.bytesWritten += 1000 * MIB
  })
  await pass(LIMIT_MS + 15_000)
  expect(socket.isCut).toBe(false)
  await pass(1500)
  expect(socket.isCut).toBe(true)
})
