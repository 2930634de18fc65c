import net from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A connection that sends arbitrary bytes and reads the responses one by one. */
export class RawClient {
  readonly #socket: net.Socket
  readonly #waiting: { readonly verb: string; readonly resolve: (answer: RawAnswer | undefined) => void }[] = []
  #received = Buffer.alloc(0)
  #isClosed = false
  /** All received bytes. */
  raw = ''

  private constructor(socket: net.Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.raw += chunk.toString('latin1')
      this.#settle()
    })
    // Bytes received before an error still count.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      this.#settle()
    })
  }

  static connect(address: string): Promise<RawClient> {
    const url = new URL(`tcp://${address}`)
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port: Number(url.port), host: url.hostname, noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new RawClient(socket)))
    })
  }

  /** The received bytes that are not part of a response. */
  get rest(): string {
    return this.#received.toString('latin1')
  }

  /** Resolves when the kernel has the bytes, so that consecutive chunks can arrive separately. */
  send(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()))
  }

  /** Returns the next complete response; undefined if the connection closes without one. */
  answer(verb = 'GET'): Promise<RawAnswer | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push({ verb, resolve })
      this.#settle()
    })
  }

  /** Resolves when the server has closed the connection. */
  closed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed) resolve()
      else this.#socket.once('close', () => resolve())
    })
  }

  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #settle(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const parsed = parseAnswer(this.#received, next.verb)
      if (!parsed && !this.#isClosed) return
      if (parsed) this.#received = this.#received.subarray(parsed.size)
      this.#waiting.shift()
      next.resolve(parsed?.answer)
    }
  }
}

const parseAnswer = (bytes: Buffer, verb: string): { answer: RawAnswer; size: number } | undefined => {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
  if (status === 100) return parseAnswer(bytes.subarray(end + 4), verb)
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const start = end + 4
  if (verb === 'HEAD' || status === 204) return { answer: { status, headers, body: '' }, size: start }
  if (headers['transfer-encoding'] === 'chunked') return parseChunked(bytes, start, status, headers)
  const size = start + Number(headers['content-length'] ?? 0)
  if (bytes.length < size) return undefined
  return { answer: { status, headers, body: bytes.toString('utf8', start, size) }, size }
}

const parseChunked = (bytes: Buffer, start: number, status: number, headers: Record<string, string>) => {
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { answer: { status, headers, body: Buffer.concat(chunks).toString('utf8') }, size: next }
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = next
  }
}
