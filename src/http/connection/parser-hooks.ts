import { createServer } from 'node:http'
import { Duplex } from 'node:stream'

/** A callback of Node's parser, which is its `this`. `Head` in fast-lane.ts has the arguments of the head callback. */
type ParserCallback = (this: unknown, ...found: never[]) => unknown

/** Node's parser of one connection. The parser calls the callbacks in its numbered slots. */
export interface NodeParser {
  [slot: number]: ParserCallback | undefined
}

/** The slots of Node's parser for the head, body and end-of-message callbacks, and its verb numbers. */
export interface ParserHooks {
  readonly head: number
  readonly body: number
  readonly end: number
  readonly verbs: ReadonlyMap<number, string>
}

const PROBED = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'LINK'] as const
const SLOTS = { head: 'kOnHeadersComplete', body: 'kOnBody', end: 'kOnMessageComplete' } as const

/** A simulated connection that discards writes and never delivers data. The bytes go directly to the parser. */
class NullConnection extends Duplex {
  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done()
  }
}

/**
 * Detects the slots and verb numbers of Node's parser, by parsing one message with each verb. Returns undefined if a
 * result is unexpected, because slots and numbers are internals of Node.
 */
export const findParserHooks = (): ParserHooks | undefined => {
  const verbs = new Map<number, string>()
  const server = createServer({ requireHostHeader: false })
  let slots: Slots | undefined
  for (const verb of PROBED) {
    const wire = new NullConnection()
    server.emit('connection', wire)
    const parser = parserOf(wire)
    slots ??= parser && slotsOf(parser)
    const number = parser && slots && readOne(wire, parser, slots, verb)
    wire.destroy()
    if (number === undefined) return undefined
    verbs.set(number, verb)
  }
  return slots && verbs.size === PROBED.length ? { ...slots, verbs } : undefined
}

/** Returns the parser that Node's HTTP server assigned to a connection. */
export const parserOf = (socket: object): NodeParser | undefined => {
  const parser = 'parser' in socket ? socket.parser : undefined
  return typeof parser === 'object' && parser !== null ? (parser as NodeParser) : undefined
}

type Slots = Readonly<Record<keyof typeof SLOTS, number>>

const slotsOf = (parser: NodeParser): Slots | undefined => {
  const known = parser.constructor as unknown as Readonly<Record<string, unknown>>
  const slotOf = (name: string): number => {
    const slot = known[name]
    return typeof slot === 'number' && typeof parser[slot] === 'function' ? slot : -1
  }
  const slots = { head: slotOf(SLOTS.head), body: slotOf(SLOTS.body), end: slotOf(SLOTS.end) }
  return Object.values(slots).every((slot) => slot >= 0) ? slots : undefined
}

/**
 * Parses one message, and returns the number of its verb. Returns undefined if the parser reports anything unexpected.
 */
const readOne = (wire: Duplex, parser: NodeParser, { head, body, end }: Slots, verb: string): number | undefined => {
  const heard: unknown[] = []
  let number: unknown
  const before = { head: parser[head], body: parser[body], end: parser[end] }
  parser[head] = (...found: readonly unknown[]) => {
    const [major, minor, headers, method, url, , , isUpgrade, isKept] = found
    number = method
    heard.push(major, minor, headers, url, isUpgrade, isKept)
    return 0
  }
  parser[body] = (bytes: unknown) => void heard.push(String(bytes))
  parser[end] = () => void heard.push('end')
  const [feed] = wire.listeners('data')
  feed?.call(wire, Buffer.from(`${verb} /v1/a?b HTTP/1.1\r\nHost: c\r\nContent-Length: 2\r\n\r\nde`))
  Object.assign(parser, { [head]: before.head, [body]: before.body, [end]: before.end })
  return JSON.stringify(heard) === EXPECTED && typeof number === 'number' ? number : undefined
}

const EXPECTED = JSON.stringify([1, 1, ['Host', 'c', 'Content-Length', '2'], '/v1/a?b', false, true, 'de', 'end'])
