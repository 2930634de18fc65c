import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Bench, Build, CpuRow } from './figures/context.js'
import { measureCpu } from './figures/cpu.js'
import { measureFanOut } from './figures/fan-out.js'
import { measureFilters } from './figures/filters.js'
import { measureLabDaemon } from './figures/lab-daemon.js'
import { measureImage } from './figures/image.js'
import { measureLab } from './figures/lab.js'
import { measureLibrary } from './figures/library.js'
import { measureNodes } from './figures/nodes.js'
import { measurePage } from './figures/page.js'
import { measureRatios } from './figures/ratios.js'
import { measureReplication } from './figures/replication.js'
import { measureResync } from './figures/resync.js'
import { measureScale } from './figures/scale.js'
import { measureSimulated } from './figures/simulated.js'
import { measureStart } from './figures/start.js'
import { measureSync } from './figures/sync.js'
import { measureThroughput, type ThroughputRow } from './figures/throughput.js'
import type { Figure } from './goals.js'
import { Generator } from './load/generator.js'
import { toJson, toText } from './report.js'
import { BenchServer } from './servers.js'

const PARTS = {
  ratios: measureRatios,
  throughput: measureThroughput,
  cpu: measureCpu,
  replication: measureReplication,
  sync: measureSync,
  resync: measureResync,
  'fan-out': measureFanOut,
  filters: measureFilters,
  nodes: measureNodes,
  start: measureStart,
  scale: measureScale,
  lab: measureLab,
  daemon: measureLabDaemon,
  library: measureLibrary,
  image: measureImage,
  simulated: measureSimulated,
  page: measurePage,
} as const satisfies Record<string, (bench: Bench) => Promise<ThroughputRow[] | undefined>>

const HELP = `npm run bench -- [options]
  --only NAME,...   parts to run: ${Object.keys(PARTS).join(', ')}
  --rounds N        interleaved rounds of the ratios (5)
  --seconds S       seconds of one measurement (2)
  --quick           one short round of everything
  --sync-keys N     keys of the full sync and of the resync (1000000)
  --scale-keys N    keys of the full server of "scale" (100000); it has tokens and roles in proportion
  --dist DIR        compiled program (dist)
  --beside DIR      another compiled program; "cpu", "nodes", "start", "lab" and "library" measure both alternately
  --requests TEXT,... only the requests of "cpu" whose names contain one of these texts, such as "v1 write,batch"
  --json FILE       write everything as JSON; "-" is standard output`

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    'sync-keys': { type: 'string' },
    'scale-keys': { type: 'string' },
    dist: { type: 'string', default: path.join(import.meta.dirname, '..', '..', 'dist') },
    beside: { type: 'string' },
    requests: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

type MeasuredFigures = Map<string, number[]>

const addTo = (figures: MeasuredFigures, figure: Figure, value: number): void =>
  void figures.set(figure, [...(figures.get(figure) ?? []), value])

/** Returns the file that the command runs. Earlier builds have no bundle of it. */
const commandOf = (dist: string): string => {
  const bundled = path.join(dist, 'bundle', 'main.cjs')
  return existsSync(bundled) ? bundled : path.join(dist, 'main.js')
}

const main = async (): Promise<number> => {
  if (flags.help) {
    console.log(HELP)
    return 0
  }
  const names = flags.only?.split(',') ?? Object.keys(PARTS)
  const unknown = names.filter((name) => !Object.hasOwn(PARTS, name))
  if (unknown.length > 0) {
    console.error(`unknown parts: ${unknown.join(', ')}\n${HELP}`)
    return 1
  }
  const figures: MeasuredFigures = new Map()
  const besides: MeasuredFigures = new Map()
  const notes = new Map<string, { values: number[]; unit: string }>()
  const cpu: CpuRow[] = []
  let throughput: ThroughputRow[] = []
  const servers: BenchServer[] = []
  const dist = path.resolve(flags.dist)
  const program = commandOf(dist)
  if (!existsSync(program)) {
    console.error(`cannot find the program in ${dist}. Run npm run build, or pass another directory with --dist`)
    return 1
  }
  const unopened: Bench['unopened'] = async (name, options = {}) => {
    const server = await BenchServer.prepare({ program, name, ...options })
    servers.push(server)
    return server
  }
  const add = (figure: Figure, value: number) => addTo(figures, figure, value)
  const builds: Build[] = [{ dist, program: commandOf(dist), add }]
  if (flags.beside !== undefined) {
    const other = path.resolve(flags.beside)
    builds.push({ dist: other, program: commandOf(other), add: (figure, value) => addTo(besides, figure, value) })
  }
  const bench: Bench = {
    builds,
    generator: new Generator(),
    rounds: Number(flags.rounds ?? (flags.quick ? 1 : 5)),
    seconds: Number(flags.seconds ?? (flags.quick ? 1 : 2)),
    syncKeys: Number(flags['sync-keys'] ?? (flags.quick ? 20_000 : 1_000_000)),
    scaleKeys: Number(flags['scale-keys'] ?? (flags.quick ? 5000 : 100_000)),
    isQuick: flags.quick,
    dist,
    program,
    beside: builds[1]?.program,
    requests: (flags.requests ?? '').split(',').map((text) => text.trim().toLowerCase()),
    unopened,
    server: async (name, options = {}) => {
      const server = await unopened(name, options)
      await server.open()
      return server
    },
    add,
    note: (name, value, unit) => {
      const known = notes.get(name)
      if (known) known.values.push(value)
      else notes.set(name, { values: [value], unit })
    },
    addCpu: (row) => void cpu.push(row),
    say: (text) => console.error(text),
  }
  try {
    for (const name of names) {
      console.error(`--- ${name}`)
      const rows = await PARTS[name as keyof typeof PARTS](bench)
      if (rows) throughput = rows
      await Promise.all(servers.splice(0).map((server) => server.remove()))
    }
  } finally {
    bench.generator.close()
    await Promise.all(servers.map((server) => server.remove()))
  }
  const findings = { figures, besides, notes, throughput, cpu }
  if (flags.json !== '-') console.log(toText(findings))
  const json = JSON.stringify(toJson(findings), undefined, 2)
  if (flags.json === '-') console.log(json)
  else if (flags.json) writeFileSync(flags.json, `${json}\n`)
  return 0
}

// Each running server has its own listener for the exit of this process.
process.setMaxListeners(64)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
process.exitCode = await main()
