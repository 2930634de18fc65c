import { fillForReads, mountEngines, setUpAppRole, requestsOf } from '../clusters.js'
import type { Work } from '../load/generator.js'
import { warmUp } from '../load/warm-up.js'
import { residentMb } from '../machine.js'
import type { BenchServer } from '../servers.js'
import { median, ratiosOf } from '../stats.js'
import type { Bench } from './context.js'
import { measureLoginBytes } from './login-bytes.js'
import { measureShippingCost } from './shipping-cost.js'
import { Yardsticks } from './yardsticks.js'

const CONNECTIONS = 64
const WARM_UP = 20_000

/** Goals for the processor time of a request, in microseconds of the reference machine: must, aim. */
const GOALS = {
  'sys/health': [60, 42],
  'KV v1 read': [55, 45],
  'KV v2 read': [75, 56],
  'KV v1 write': [150, 125],
  'KV v2 write': [270, 225],
  'AppRole login, service': [340, 250],
  'AppRole login, batch': [140, 110],
  'AppRole login, limited SecretID': [360, 260],
} as const satisfies Record<string, readonly [must: number, aim: number]>

type RequestName = keyof typeof GOALS

/** The results of all rounds, in microseconds. */
interface Micros {
  readonly bare: number[]
  readonly own: number[]
  readonly beside: number[]
}

interface Subject {
  readonly server: BenchServer
  readonly works: Record<RequestName, Work>
}

/**
 * Measures:
 *
 * - the processor time of each kind of request
 * - the cost of a secondary for a write
 * - the bytes that a login writes
 * - the memory after all these requests
 *
 * Processor time varies less than rates. Rates depend on the load generator and other processes.
 */
export const measureCpu = async (bench: Bench): Promise<undefined> => {
  const yardsticks = new Yardsticks(bench.generator, bench.dist)
  try {
    const own = await prepare(bench, bench.program)
    const beside = bench.beside === undefined ? undefined : await prepare(bench, bench.beside)
    const askBare = async () => (await yardsticks.bareHttp(CONNECTIONS, bench.seconds)).cpuMicros
    const found = new Map<RequestName, Micros>()
    for (const work of selectedRequests(bench)) found.set(work, { bare: [], own: [], beside: [] })
    for (let round = 1; round <= bench.rounds; round++) {
      for (const [work, micros] of found) {
        micros.bare.push(await askBare())
        micros.own.push(await ask(bench, own, work))
        if (beside) micros.beside.push(await ask(bench, beside, work))
      }
      bench.say(
        `round ${round}: ${[...found].map(([work, { own }]) => `${work} ${own.at(-1)?.toFixed(0)}`).join(', ')}`,
      )
    }
    const bare = [...found.values()].flatMap((micros) => micros.bare)
    bench.note('bare node:http, processor time of a request', median(bare), 'us')
    for (const [work, micros] of found) {
      const [must, aim] = GOALS[work]
      const besideMicros = beside && median(micros.beside)
      bench.addCpu({
        work,
        micros: median(micros.own),
        besideMicros,
        ofBare: median(ratiosOf(micros.own, micros.bare)),
        must,
        aim,
      })
    }
    if (found.size === Object.keys(GOALS).length) {
      bench.add('14d', residentMb(own.server.pid))
      await measureLoginBytes(bench)
    }
    if (isSelected(bench, 'KV v1 write, shipping')) await measureShippingCost(bench, askBare)
  } finally {
    yardsticks.close()
  }
  return undefined
}

const selectedRequests = (bench: Bench): RequestName[] =>
  (Object.keys(GOALS) as RequestName[]).filter((name) => isSelected(bench, name))

const isSelected = ({ requests }: Bench, name: string): boolean =>
  requests.some((text) => name.toLowerCase().includes(text))

/** Starts a server and warms it up with each kind of request until its code is compiled. */
const prepare = async (bench: Bench, program: string): Promise<Subject> => {
  const server = await bench.server('cpu', { program })
  await mountEngines(server)
  await fillForReads(server)
  const health = { port: server.apiPort, method: 'GET', path: '/v1/sys/health' }
  const works = { ...requestsOf(server, await setUpAppRole(server)), 'sys/health': health }
  for (const work of selectedRequests(bench))
    await warmUp(bench.generator, works[work], bench.isQuick ? WARM_UP / 10 : WARM_UP)
  return { server, works }
}

const ask = async (bench: Bench, { server, works }: Subject, work: RequestName): Promise<number> =>
  (await bench.generator.loadWithCpu(server.pid, works[work], CONNECTIONS, bench.seconds)).cpuMicros
