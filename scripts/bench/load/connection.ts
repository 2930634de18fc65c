import net from 'node:net'

/** A response as the load generator reads it. `head` is everything before the body. */
export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: Buffer
}

const HEAD_END = '\r\n\r\n'
const LENGTH = 'content-length: '
const NOTHING = Buffer.alloc(0)

/**
 * One keep-alive connection with at most one request in flight. It parses only responses with a content length, so that
 * a request costs the generator a few microseconds.
 */
export class Connection {
  bytesIn = 0
  bytesOut = 0
  readonly #socket: net.Socket
  #held: Buffer = NOTHING
  #onAnswer: ((answer: Answer) => void) | undefined
  #onFailure: (error: Error) => void

  private constructor(socket: net.Socket) {
    this.#socket = socket
    this.#onFailure = () => undefined
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => this.#onFailure(error))
    socket.on('close', () => this.#onFailure(new Error('the server closed the connection')))
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new Connection(socket))
      })
    })
  }

  onFailure(listener: (error: Error) => void): void {
    this.#onFailure = listener
  }

  /** Sends `text`, a whole request in ASCII. */
  send(text: string, onAnswer: (answer: Answer) => void): void {
    this.#onAnswer = onAnswer
    this.bytesOut += text.length
    this.#socket.write(text, 'latin1')
  }

  ask(text: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#onFailure = reject
      this.send(text, resolve)
    })
  }

  close(): void {
    this.#onFailure = () => undefined
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.bytesIn += chunk.length
    const held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const headEnd = held.indexOf(HEAD_END, 0, 'latin1')
    const head = headEnd < 0 ? '' : held.toString('latin1', 0, headEnd)
    const bodyStart = headEnd + HEAD_END.length
    const end = bodyStart + lengthOf(head)
    if (headEnd < 0 || held.length < end) {
      this.#held = held
      return
    }
    this.#held = NOTHING
    const onAnswer = this.#onAnswer
    this.#onAnswer = undefined
    onAnswer?.({ status: Number(head.slice(9, 12)), head, body: held.subarray(bodyStart, end) })
  }
}

const lengthOf = (head: string): number => {
  let at = head.indexOf('Content-Length: ')
  if (at < 0) at = head.toLowerCase().indexOf(LENGTH)
  return at < 0 ? 0 : Number.parseInt(head.slice(at + LENGTH.length, at + LENGTH.length + 12), 10)
}

/** Builds the parts of a request that do not change between requests. */
export const printRequest = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): string => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === '' && method === 'GET' ? '' : `Content-Length: ${body.length}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}${length}\r\n${body}`
}
