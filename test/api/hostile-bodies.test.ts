import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenServerProcess, startOpenServerProcess } from '../support/server-process.js'
import { RawClient } from '../unit/http/raw-client.js'
import { Worker } from 'node:worker_threads'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const PROBE = fileURLToPath(new URL('../support/loop-watch.cjs', import.meta.url))

/** Measures the turns of a server's event loop. */
interface LoopWatch extends Disposable {
  /** Returns the CPU time of the longest turn since the last call, in milliseconds; 0 if all turns were short. */
  readonly longestMs: () => number
}

/** Runs `start`, and measures the server processes that it starts. */
const watchLoop = async <T>(start: () => Promise<T>): Promise<{ started: T; loop: LoopWatch }> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-loop-'))
  const file = path.join(directory, 'turns')
  writeFileSync(file, '')
  const before = process.env.NODE_OPTIONS
  process.env.NODE_OPTIONS = `${before ?? ''} --require=${PROBE}`
  process.env.LOOP_WATCH_FILE = file
  try {
    const started = await start()
    let read = 0
    const longestMs = () => {
      const turns = readFileSync(file, 'utf8').slice(0, -1).split('\n')
      const fresh = turns.slice(read).map(Number)
      read = turns.length
      return Math.max(0, ...fresh)
    }
    const remove = () => rmSync(directory, { recursive: true, force: true })
    return { started, loop: { longestMs, [Symbol.dispose]: remove } }
  } finally {
    delete process.env.LOOP_WATCH_FILE
    if (before === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = before
  }
}

/** The slowest responses of one watch in milliseconds, and the number of missing responses. */
interface HealthFigures {
  readonly answers: number
  readonly slowestMs: number
  readonly slowestPath: string
  readonly failures: readonly string[]
}

const PATHS = ['sys/health', 'sys/seal-status', 'sys/replication/status', 'sys/leader']

/**
 * Requests several paths in turn, each on a persistent connection, in a separate thread: the load of the test itself is
 * not measured.
 */
const WATCHER = `
const { parentPort, workerData } = require('node:worker_threads')
const http = require('node:http')
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const figures = { answers: 0, slowestMs: 0, slowestPath: '', failures: [] }
let isDone = false
parentPort.on('message', () => { isDone = true })
const ask = (path) => new Promise((resolve) => {
  const startMs = performance.now()
  const fail = (error) => { figures.failures.push(path + ': ' + error); resolve() }
  const request = http.get(workerData.address + '/v1/' + path, { agent }, (response) => {
    response.resume()
    response.once('error', fail)
    response.once('end', () => {
      const ms = performance.now() - startMs
      figures.answers++
      if (response.statusCode >= 500) fail(response.statusCode)
      if (ms > figures.slowestMs) { figures.slowestMs = ms; figures.slowestPath = path }
      resolve()
    })
  })
  request.once('error', fail)
})
const run = async () => {
  await ask(workerData.paths[0])
  figures.slowestMs = 0
  for (let n = 0; !isDone; n++) {
    await ask(workerData.paths[n % workerData.paths.length])
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  agent.destroy()
  parentPort.postMessage(figures)
  parentPort.close()
}
run()
`

/** Runs `work` while the monitoring endpoints are called all the time. */
const watchHealth = async (address: string, work: () => Promise<unknown>): Promise<HealthFigures> => {
  const worker = new Worker(WATCHER, { eval: true, workerData: { address, paths: PATHS } })
  const figures = new Promise<HealthFigures>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  try {
    await work()
  } finally {
    worker.postMessage('enough')
  }
  return figures
}

/**
 * Bodies that are cheap to send and expensive to process. No response may be a 500, the process must stay small, and
 * health checks must respond at once.
 */
const KIB = 1024
const MIB = 1024 * KIB
const LARGEST = 32 * MIB

/** Returns a text of at most `size` bytes: `start`, repetitions of `unit`, and `end`. */
const filled = (size: number, start: string, unit: (n: number) => string, end: string): Buffer => {
  const parts = [start]
  let length = start.length + end.length
  for (let n = 0; ; n++) {
    const next = unit(n)
    length += next.length
    if (length > size) break
    parts.push(next)
  }
  return Buffer.from([...parts, end].join(''))
}

const same = (text: string) => () => text

/** Shapes of a body, by name: each returns a JSON object of the given size with the named field. */
const SHAPES: Readonly<Record<string, (size: number, field: string) => Buffer>> = {
  'many keys': (size, field) => filled(size, `{"${field}":"x"`, (n) => `,"k${n.toString(36)}":0`, '}'),
  'many keys in a field': (size, field) => filled(size, `{"${field}":{"a":0`, (n) => `,"k${n.toString(36)}":0`, '}}'),
  'names that objects inherit': (size, field) => filled(size, `{"${field}":["constructor"`, same(',{}'), ']}'),
  '__proto__ over and over': (size, field) => filled(size, `{"${field}":{"a":0`, same(',"__proto__":{}'), '}}'),
  'empty arrays': (size, field) => filled(size, `{"${field}":[0`, same(',[]'), ']}'),
  fractions: (size, field) => filled(size, `{"${field}":[0`, same(',1.50'), ']}'),
  'one long number': (size, field) => filled(size, `{"${field}":1`, same('9'.repeat(64)), '}'),
  'one long string': (size, field) => filled(size, `{"${field}":"`, same('x'.repeat(64)), '"}'),
  'one long string of digits': (size, field) => filled(size, `{"${field}":"1`, same('9'.repeat(64)), '"}'),
  'one long string of base64': (size, field) => filled(size, `{"${field}":"`, same('A'.repeat(64)), '"}'),
  escapes: (size, field) => filled(size, `{"${field}":"`, same('\\"\\u0000\\\\'), '"}'),
  'a comma list': (size, field) => filled(size, `{"${field}":"a`, same(',a'), '"}'),
  pairs: (size, field) => filled(size, `{"${field}":"a=1`, (n) => `,k${n.toString(36)}=1`, '"}'),
  'JSON in a string': (size, field) =>
    filled(size, `{"${field}":"{\\"a\\":\\"0\\"`, (n) => `,\\"k${n}\\":\\"0\\"`, '}"}'),
  'blocks of addresses': (size, field) => filled(size, `{"${field}":"10.0.0.0/8`, (n) => `,10.${n % 256}.0.0/16`, '"}'),
  blanks: (size, field) => filled(size, `{"${field}":"x"`, same(' '.repeat(64)), '}'),
  'brackets that never close': (size) => filled(size, '', same('['), ''),
  quotes: (size) => filled(size, '{', same('"":'), ''),
  commas: (size) => filled(size, '[', same(','), ''),
  'two-byte characters': (size, field) => filled(size / 3, `{"${field}":"`, same('\u4e2d'.repeat(64)), '"}'),
}

const FORM = 'application/x-www-form-urlencoded'
const FORMS: Readonly<Record<string, (size: number) => Buffer>> = {
  'a form of many parameters': (size) => filled(size, 'a=1', (n) => `&k${n.toString(36)}=`, ''),
  'a form of one parameter': (size) => filled(size, 'role_id=1', same('&role_id='), ''),
  'a form of escapes': (size) => filled(size, 'role_id=', same('%41'), ''),
}

/** Unauthenticated paths, each with one of its fields. */
const OPEN: readonly (readonly [path: string, field: string])[] = [
  ['auth/approle/login', 'role_id'],
  ['auth/userpass/login/ann', 'password'],
  ['sys/unseal', 'key'],
  ['sys/init', 'pgp_keys'],
  ['sys/generate-root/attempt', 'pgp_key'],
  ['sys/generate-root/update', 'key'],
  ['sys/rekey/init', 'pgp_keys'],
  ['sys/rekey/update', 'key'],
  ['sys/wrapping/unwrap', 'token'],
  ['sys/replication/dr/secondary/generate-operation-token/attempt', 'pgp_key'],
  ['secret/data/a', 'data'],
  ['nowhere/at/all', 'data'],
]

/** Number of members and elements of an authenticated body: as many as are accepted. */
const PARTS = 99_000
const part = 'v'.repeat(LARGEST / PARTS - 24)
const repeated = (start: string, unit: string, end: string): Buffer => {
  const times = Math.floor((LARGEST - start.length - end.length) / unit.length)
  return Buffer.from(start + unit.repeat(times) + end)
}
const numbered = (start: string, unit: (n: number) => string, end: string): Buffer =>
  Buffer.from(`${start}${Array.from({ length: PARTS }, (_, n) => unit(n)).join('')}${end}`)

const FULL: Readonly<Record<string, (start: string, end: string) => Buffer>> = {
  'plain text': (start, end) => repeated(`${start}{"a":"`, 'x', `"}${end}`),
  base64: (start, end) => repeated(`${start}{"a":"`, 'QUJD', `"}${end}`),
  'letters as escapes': (start, end) => repeated(`${start}{"a":"`, '\\u0041', `"}${end}`),
  'halves of characters': (start, end) => repeated(`${start}{"a":"`, '\\ud800', `"}${end}`),
  'escaped quotes': (start, end) => repeated(`${start}{"a":"`, '\\"', `"}${end}`),
  'quotes beside a fraction': (start, end) => repeated(`${start}{"n":1.50,"a":"`, '\\"', `"}${end}`),
  members: (start, end) => numbered(`${start}{"a":0`, (n) => `,"k${n}":"${part}"`, `}${end}`),
  'long names': (start, end) => numbered(`${start}{"a":0`, (n) => `,"k${part}${n}":0`, `}${end}`),
  elements: (start, end) => numbered(`${start}{"a":[0`, () => `,"${part}"`, `]}${end}`),
  'one name': (start, end) => numbered(`${start}{"a":0`, () => `,"k":"${part}"`, `}${end}`),
  'long numbers': (start, end) => numbered(`${start}{"a":[0`, () => `,1.${'5'.repeat(part.length)}`, `]}${end}`),
  nested: (start, end) => repeated(`${start}${'{"a":'.repeat(250)}"`, 'x', `"${'}'.repeat(250)}${end}`),
  blanks: (start, end) => repeated(`${start}{"a":1.50`, ' ', `}${end}`),
}

/** Paths for authenticated bodies, with the text before and after the shape. */
const TAKERS: readonly (readonly [path: string, start: string, end: string])[] = [
  ['secret/data/a', '{"data":', '}'],
  ['kv1/a', '', ''],
  ['sys/wrapping/wrap', '', ''],
  ['cubbyhole/a', '', ''],
  ['sys/policies/acl/p', '{"policy":"x","z":', '}'],
  ['sys/mounts/kv1/tune', '{"z":', '}'],
  ['auth/approle/role/r/secret-id', '{"metadata":', '}'],
]

interface Sent {
  readonly status: number
  readonly text: string
  /** CPU time of the server's main thread, in milliseconds. */
  readonly costMs: number
}

interface Sending {
  readonly token?: string
  readonly type?: string
}

const MEMORY_MAX = 400 * MIB
/**
 * Maximum CPU time that an unauthenticated body may take of the main thread: 50 ms, and as much again for the
 * measurement.
 */
const OPEN_CPU_MS_MAX = 100
/** Maximum CPU time that an authenticated body of maximum size may take in one turn. */
const TURN_CPU_MS_MAX = 500
/** Maximum response time of health checks on a busy machine. */
const HEALTH_MS_MAX = 1000
const READERS = 12

describe('hostile bodies', () => {
  let server: OpenServerProcess
  let loop: LoopWatch
  let memoryMax = 0

  const procNumber = (file: string, pattern: RegExp) =>
    Number(pattern.exec(readFileSync(`/proc/${server.pid}/${file}`, 'utf8'))?.[1])
  const watchMemory = () => {
    memoryMax = Math.max(memoryMax, procNumber('status', /VmRSS:\s+(\d+) kB/) * 1024)
  }
  const cpuMs = () => procNumber(`task/${server.pid}/schedstat`, /^(\d+)/) / 1e6

  const send = async (
    path: string,
    body: Buffer,
    { token, type = 'application/json' }: Sending = {},
  ): Promise<Sent> => {
    const before = cpuMs()
    const client = await RawClient.connect(server.address.slice('http://'.length))
    const head = [
      `PUT /v1/${path} HTTP/1.1`,
      'Host: a',
      `Content-Type: ${type}`,
      `Content-Length: ${body.length}`,
      ...(token ? [`X-Vault-Token: ${token}`] : []),
    ]
    void client.send(`${head.join('\r\n')}\r\n\r\n`)
    void client.send(body)
    const answer = await client.answer()
    client.destroy()
    watchMemory()
    return { status: answer?.status ?? 0, text: answer?.body.slice(0, 200) ?? '', costMs: cpuMs() - before }
  }

  /** Returns the size of a response in bytes. */
  const readBytes = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { 'X-Vault-Token': server.rootToken }
      get(`${server.address}/v1/${path}`, { headers, agent: false }, (response) => {
        let bytes = 0
        response.on('data', (piece: Buffer) => {
          bytes += piece.length
          watchMemory()
        })
        response.once('end', () => resolve(bytes))
        response.once('error', reject)
      }).once('error', reject)
    })

  /**
   * Returns the cheapest of up to three tries, because other work of the process also costs time. Does not retry after
   * a failure, or after a response that differs from the previous one.
   */
  const sendCheaply = async <T extends { readonly status: number; readonly costMs: number }>(
    sendOnce: () => Promise<T>,
    costMsMax: number,
  ): Promise<T> => {
    let cheapest = await sendOnce()
    for (let more = 2; more > 0 && cheapest.costMs >= costMsMax && hasSucceeded(cheapest); more--) {
      const next = await sendOnce()
      if (next.status !== cheapest.status) return next
      if (next.costMs < cheapest.costMs) cheapest = next
    }
    return cheapest
  }

  const hasSucceeded = ({ status }: { readonly status: number }): boolean => status >= 200 && status < 500

  /** Returns the CPU time of the longest turn that processes an administrator's body. */
  const sendForTurn = async (path: string, body: Buffer) => {
    loop.longestMs()
    const { status, text } = await send(path, body, { token: server.rootToken })
    return { status, text, costMs: loop.longestMs() }
  }

  /** Sends the bodies in sequence, and returns the problems of the responses. */
  const sendAll = async (
    cases: Iterable<{
      readonly name: string
      readonly path: string
      readonly body: () => Buffer
      readonly type?: string
    }>,
    isRight: (status: number) => boolean,
    { token, cpuMsMax = Number.POSITIVE_INFINITY }: { readonly token?: string; readonly cpuMsMax?: number } = {},
  ): Promise<string[]> => {
    const wrong: string[] = []
    for (const { name, path, body, type } of cases) {
      const sending = { ...(token && { token }), ...(type && { type }) }
      const sent = await sendCheaply(() => send(path, body(), sending), cpuMsMax)
      if (!isRight(sent.status) || sent.costMs >= cpuMsMax)
        wrong.push(`${path}, ${name}: ${sent.status} in ${sent.costMs.toFixed(0)} ms ${sent.text}`)
    }
    return wrong
  }

  const watched = async (what: string, healthMsMax: number, work: () => Promise<string[]>) => {
    let wrong: string[] = []
    const { slowestMs, slowestPath, answers, failures } = await watchHealth(server.address, async () => {
      wrong = await work()
    })
    const memory = (memoryMax / MIB).toFixed(0)
    console.info(`${what}: ${answers} answers beside it, the slowest ${slowestMs.toFixed(0)} ms; ${memory} MiB`)
    expect(wrong).toEqual([])
    expect(failures).toEqual([])
    expect(slowestMs, slowestPath).toBeLessThan(healthMsMax)
    expect(memoryMax).toBeLessThan(MEMORY_MAX)
  }

  beforeAll(async () => {
    const watched = await watchLoop(() => startOpenServerProcess())
    server = watched.started
    loop = watched.loop
    const { client } = server
    await client.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
    await client.write('sys/mounts/kv1', { type: 'kv' })
    await client.write('sys/auth/approle', { type: 'approle' })
    await client.write('sys/auth/userpass', { type: 'userpass' })
    await client.write('auth/approle/role/r')
    await client.write('auth/userpass/users/ann', { password: 'right' })
    await watchHealth(server.address, () => send('secret/data/a', SHAPES.escapes?.(MIB, 'data') ?? Buffer.alloc(0)))
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    loop?.[Symbol.dispose]()
  })

  it('hostile unauthenticated bodies take little CPU time', async () => {
    const cases = OPEN.flatMap(([path, field]) =>
      [64 * KIB, MIB].flatMap((size) => [
        ...Object.entries(SHAPES).map(([name, make]) => ({ name, path, body: () => make(size, field) })),
        ...Object.entries(FORMS).map(([name, make]) => ({ name, path, body: () => make(size), type: FORM })),
      ]),
    )
    await watched(`${cases.length} bodies without a token`, HEALTH_MS_MAX, () =>
      sendAll(cases, (status) => status >= 200 && status < 500, { cpuMsMax: OPEN_CPU_MS_MAX }),
    )
  })

  it('the server does not read bodies of 21 and 32 MiB without a valid token', async () => {
    const keys = SHAPES['many keys']?.(21 * MIB, 'role_id') ?? Buffer.alloc(0)
    const names = SHAPES['names that objects inherit']?.(LARGEST, 'key') ?? Buffer.alloc(0)
    for (const token of [undefined, 'hvs.not-a-token']) {
      await watched('the largest bodies without a good token', HEALTH_MS_MAX, async () => {
        const cases = OPEN.flatMap(([path]) => [keys, names].map((body) => ({ name: 'large', path, body: () => body })))
        return sendAll(cases, (status) => status === 413 || (status >= 400 && status <= 405), token ? { token } : {})
      })
    }
  })

  it('endless hostile bodies use at most their memory budget', async () => {
    const clients = await Promise.all(
      Array.from({ length: 400 }, () => RawClient.connect(server.address.slice('http://'.length))),
    )
    const piece = Buffer.alloc(63 * KIB, 0x20)
    await watched('400 bodies that never end', HEALTH_MS_MAX, async () => {
      await Promise.all(
        clients.map(async (client) => {
          await client.send('PUT /v1/auth/approle/login HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n')
          await client.send(piece)
        }),
      )
      watchMemory()
      const { status } = await send('auth/approle/login', Buffer.from('{"role_id":"r"}'))
      return status === 400 ? [] : [`an honest login: ${status}`]
    })
    for (const client of clients) client.destroy()
  })

  describe.each(['without an audit device', 'with one'])('of the largest size with a token, %s', (audited) => {
    it('hostile bodies of the maximum size block the event loop for at most half a second', async () => {
      if (audited === 'with one') {
        await server.client.write('sys/audit/file', { type: 'file', options: { file_path: `${server.dataDir}.audit` } })
      }
      const wrong: string[] = []
      const shift = audited === 'with one' ? 1 : 0
      const kinds = Object.entries(FULL).filter((_, at) => shift === 0 || at % 3 === 0)
      let longestMs = 0
      const { failures, slowestMs } = await watchHealth(server.address, async () => {
        // Each kind goes to one path, in rotation.
        for (const [at, [name, make]] of kinds.entries()) {
          const [path, start, end] = TAKERS[(at + shift) % TAKERS.length] ?? ['', '', '']
          const sent = await sendCheaply(() => sendForTurn(path, make(start, end)), TURN_CPU_MS_MAX)
          longestMs = Math.max(longestMs, sent.costMs)
          if (!hasSucceeded(sent) || sent.costMs >= TURN_CPU_MS_MAX)
            wrong.push(`${path}, ${name}: ${sent.status}, a turn of ${sent.costMs} ms ${sent.text}`)
        }
      })
      const memory = (memoryMax / MIB).toFixed(0)
      console.info(`the longest turn ${longestMs} ms, the slowest answer ${slowestMs.toFixed(0)} ms; ${memory} MiB`)
      expect(wrong).toEqual([])
      expect(failures).toEqual([])
      expect(memoryMax).toBeLessThan(MEMORY_MAX)
    })

    it('many clients read a value of the maximum size at the same time', async () => {
      const body = Buffer.from(`{"data":{"a":"${'x'.repeat(30 * MIB)}"}}`)
      expect((await send('secret/data/large', body, { token: server.rootToken })).status).toBe(200)
      await watched(`${READERS} readers`, Number.POSITIVE_INFINITY, async () => {
        const sizes = await Promise.all(Array.from({ length: READERS }, () => readBytes('secret/data/large')))
        return sizes.flatMap((bytes) => (bytes > 30 * MIB ? [] : [`${bytes} bytes`]))
      })
    })
  })
})
