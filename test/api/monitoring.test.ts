import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { LabHome } from '../support/lab-home.js'
import { TestDirectory } from '../support/program.js'
import { until } from '../support/until.js'
import { once } from 'node:events'
import { freePorts } from '../support/local-config.js'

/**
 * Checks a dashboard with the type declarations of Grafana and the compiler, because no tool validates one without a
 * server.
 */

const ROOT = path.join(import.meta.dirname, '..', '..')
const TYPES = path.join(ROOT, 'node_modules', '@grafana', 'schema', 'dist', 'types')

/** A file has words in place of enumeration members, and omits options that Grafana fills in. */
const MODEL = `
import type { Dashboard, Panel, FieldConfig } from '@grafana/schema'
import type { Options as StatOptions } from '@grafana/schema/stat'
import type { Options as CurveOptions, FieldConfig as CurveFields } from '@grafana/schema/timeseries'

type Written<T> = T extends string ? \`\${T}\` : T extends readonly (infer Item)[] ? Written<Item>[]
  : T extends object ? { [Key in keyof T]: Written<T[Key]> } : T
type Some<T> = T extends readonly (infer Item)[] ? Some<Item>[] : T extends object ? { [Key in keyof T]?: Some<T[Key]> } : T
type OfType<Type, Options, Custom> = Omit<Panel, 'type' | 'options' | 'fieldConfig'> & {
  type: Type
  options: Some<Options>
  fieldConfig: { defaults: Omit<FieldConfig, 'custom'> & { custom?: Some<Custom> }; overrides: never[] }
}
type Own = Omit<Dashboard, 'panels'> & {
  panels: (OfType<'stat', StatOptions, never> | OfType<'timeseries', CurveOptions, CurveFields>)[]
}
`

/** Returns the errors of a dashboard; empty if it is valid. */
const complaintsAbout = (dashboard: unknown, place: TestDirectory): readonly string[] => {
  place.write(
    'dashboard.ts',
    `${MODEL}\nexport const dashboard: Written<Own> = ${JSON.stringify(dashboard, null, 1)}\n`,
  )
  const panel = (name: string) => [path.join(TYPES, 'raw', 'composable', name, 'panelcfg', 'x', 'types.gen.d.ts')]
  const project = place.write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], target: 'ES2022' },
        ...{ module: 'ESNext', moduleResolution: 'Bundler' },
        paths: {
          '@grafana/schema': [path.join(TYPES, 'index.d.ts')],
          '@grafana/schema/stat': panel('stat'),
          '@grafana/schema/timeseries': panel('timeseries'),
        },
      },
      files: ['dashboard.ts'],
    }),
  )
  const compiler = path.join(ROOT, 'node_modules', 'typescript', 'lib', 'tsc.js')
  const { stdout, status, error } = spawnSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' })
  if (error) throw error
  const lines = stdout.split('\n').filter((line) => line.includes('error TS'))
  if ((status === 0) !== (lines.length === 0)) throw new Error(`the compiler ended with ${status}: ${stdout}`)
  return lines
}

const findTool = (name: string): string | undefined =>
  [`/usr/bin/${name}`, `/usr/local/bin/${name}`].find((file) => existsSync(file))

const PROMTOOL = findTool('promtool')
const PROMETHEUS = findTool('prometheus')

/** A Prometheus process with its own configuration. Disposing of it ends the process. */
class Prometheus implements AsyncDisposable {
  readonly #place = new TestDirectory()
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>
  readonly #address: string
  #said = ''

  static async start(binary: string, config: object, rules: string): Promise<Prometheus> {
    const { api } = await freePorts()
    const started = new Prometheus(binary, api, config, rules)
    await until(async () => {
      if (started.#child.exitCode !== null) throw new Error(`it ended: ${started.#said}`)
      return (await fetch(`${started.#address}/-/ready`).catch(() => undefined))?.status === 200
    })
    return started
  }

  private constructor(binary: string, port: number, config: object, rules: string) {
    this.#address = `http://127.0.0.1:${port}`
    this.#place.write('alerts.yaml', rules)
    const args = [
      `--config.file=${this.#place.write('prometheus.yaml', JSON.stringify(config))}`,
      `--storage.tsdb.path=${this.#place.path('data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    this.#child = spawn(binary, args, { cwd: this.#place.directory, stdio: ['ignore', 'ignore', 'pipe'] })
    this.#ended = once(this.#child, 'exit')
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#said = (this.#said + String(text)).slice(-4000)
    })
  }

  /** Returns the response to an API query. */
  async ask(question: string): Promise<unknown> {
    const response = await fetch(`${this.#address}/api/v1/${question}`)
    return ((await response.json()) as { data: unknown }).data
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGTERM')
    await this.#ended
    this.#place[Symbol.dispose]()
  }
}

/** The replication metrics on both sides of a link, and the Prometheus and Grafana files that use them. */

const FILES = path.join(import.meta.dirname, '..', '..', 'docs', 'monitoring')

interface Dashboard {
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly datasource: unknown
    readonly targets: readonly { readonly refId: string }[]
  }[]
}

let home: LabHome

beforeAll(async () => {
  home = new LabHome()
  const up = await home.run('up', 'dr', '--ports', 'random')
  expect(up.status, up.stderr).toBe(0)
})
afterAll(async () => {
  await home.run('down')
  await home[Symbol.asyncDispose]()
})

const cluster = (name: string) => {
  const found = home.record('default').clusters.find((one) => one.name === name)
  if (!found) throw new Error(`there is no ${name}`)
  return found
}
const metricsOf = async (name: string): Promise<string> => {
  const response = await fetch(`${cluster(name).apiAddress}/_understudy/v1/metrics`)
  expect(response.status).toBe(200)
  return response.text()
}
/** Returns the address at which Prometheus reads the faults of links. */
const addressOfLinks = async (): Promise<string> => {
  const { status, stdout } = await home.run('toxiproxy', '--port', '0')
  expect(status).toBe(0)
  return /http:\/\/\S+/.exec(stdout)?.[0] ?? ''
}
const metricsOfLinks = async (): Promise<string> => {
  const place = new URL('/metrics', await addressOfLinks())
  return (await fetch(place, { headers: { 'user-agent': 'Prometheus' } })).text()
}
const skew = async (by: string) => {
  const body = JSON.stringify({ skew: by })
  const { status } = await fetch(`${cluster('A').apiAddress}/_understudy/v1/clock`, { method: 'POST', body })
  expect(status).toBeLessThan(300)
}
/** Returns the value of the only series of this name whose labels contain a text. */
const readingOf = async (name: string, metric: string, labels = ''): Promise<number> => {
  const lines = (await metricsOf(name)).split('\n')
  const found = lines.filter((line) => line.replace('{', ' {').startsWith(`${metric} `) && line.includes(labels))
  expect(found, `${metric} of ${name}`).toHaveLength(1)
  return Number(found[0]?.split(' ').at(-1))
}
const lags = async () => ({
  entries: await readingOf('A', 'understudy_replication_lag_entries', 'kind="dr"'),
  seconds: await readingOf('A', 'understudy_replication_lag_seconds', 'kind="dr"'),
  upstream: await readingOf('B', 'understudy_replication_lag_seconds', 'link="upstream"'),
})
const write = async () => {
  const { apiAddress, rootToken } = cluster('A')
  const headers = { 'X-Vault-Token': rootToken }
  const body = JSON.stringify({ policy: 'path "x" {}' })
  expect((await fetch(`${apiAddress}/v1/sys/policies/acl/p`, { method: 'PUT', headers, body })).status).toBe(204)
}

describe('the lag of a link', () => {
  it('the lag gauges of a link are 0 in sync, and grow on the primary during a partition', async () => {
    await until(async () => Object.values(await lags()).every((value) => value === 0))
    expect((await home.run('fault', 'partition', 'A', 'B')).status).toBe(0)
    await write()
    await until(async () => {
      const { entries, seconds } = await lags()
      return entries > 0 && seconds > 1
    })
    expect((await home.run('heal', '--all')).status).toBe(0)
    await until(async () => Object.values(await lags()).every((value) => value === 0))
  })

  it('the metrics count the nodes of a cluster and its active faults', async () => {
    expect(await readingOf('A', 'understudy_nodes')).toBe(1)
    expect(await readingOf('A', 'understudy_faults_active')).toBe(0)
    await skew('5s')
    expect(await readingOf('A', 'understudy_faults_active')).toBe(1)
    await skew('0s')
  })
})

describe('the files for Prometheus and Grafana', () => {
  const read = (file: string) => readFileSync(path.join(FILES, file), 'utf8')

  it('the Prometheus and Grafana files query only metrics that a server reports', async () => {
    const told = (await metricsOf('A')) + (await metricsOf('B')) + (await metricsOfLinks())
    const asked = new Set(
      `${read('alerts.yaml')} ${read('dashboard.json')} ${read('../how-to/monitor.md')} ${read('../reference/metrics.md')}`.match(
        /\b(?:vault|understudy)_[a-z]+_[a-z_]+|\bunderstudy_nodes\b/g,
      ),
    )
    expect(asked.size).toBeGreaterThan(8)
    const missing = [...asked].filter((name) => !new RegExp(`^${name}[ {]`, 'm').test(told))
    expect(missing).toEqual([])
  })

  it('the dashboard follows the schema of Grafana, and the check reports violations', () => {
    const dashboard = JSON.parse(read('dashboard.json')) as Dashboard
    using place = new TestDirectory()
    expect(complaintsAbout(dashboard, place)).toEqual([])
    const { panels } = dashboard
    const [panel] = panels
    for (const [wrong, complaint] of [
      [{ ...dashboard, reresh: '5s' }, '\'"reresh"\' does not exist'],
      [{ ...dashboard, panels: [{ ...panel, type: 'stats' }] }, '\'"stats"\' is not assignable'],
      [{ ...dashboard, panels: [{ ...panel, options: { colorMode: 'sky' } }] }, '\'"sky"\' is not assignable'],
      [{ ...dashboard, schemaVersion: '39' }, "'string' is not assignable to type 'number'"],
    ] as const)
      expect(complaintsAbout(wrong, place).join()).toContain(complaint)
  })

  it('every panel of the dashboard queries the selected data source', () => {
    const dashboard = JSON.parse(read('dashboard.json')) as Dashboard
    expect(dashboard).toMatchObject({
      ...{ uid: expect.stringMatching(/^[\w-]{1,40}$/), time: { from: expect.stringMatching(/^now/), to: 'now' } },
      templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    })
    for (const panel of dashboard.panels) {
      expect(panel.datasource, panel.title).toEqual({ type: 'prometheus', uid: `\${datasource}` })
      expect(panel.gridPos.x + panel.gridPos.w, 'there are 24 columns').toBeLessThanOrEqual(24)
      const ids = panel.targets.map(({ refId }) => refId)
      expect(new Set(ids).size, panel.title).toBe(ids.length)
      for (const target of panel.targets) expect(Object.keys(target).sort()).toEqual(['expr', 'legendFormat', 'refId'])
    }
  })

  it('the panels of the dashboard do not overlap', () => {
    const { panels } = JSON.parse(read('dashboard.json')) as Dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
  })

  it.skipIf(PROMTOOL === undefined)(
    `promtool accepts the alert rules and their tests${PROMTOOL === undefined ? ' (not run: not installed)' : ''}`,
    () => {
      const promtool = (...args: string[]) => execFileSync(PROMTOOL ?? '', args, { cwd: FILES, encoding: 'utf8' })
      expect(promtool('check', 'rules', 'alerts.yaml')).toContain('7 rules found')
      expect(promtool('test', 'rules', 'alerts-test.yaml')).toContain('SUCCESS')
      using place = new TestDirectory()
      const queries = [...read('dashboard.json').matchAll(/"expr": "((?:[^"\\]|\\.)*)"/g)].map(
        ([, text]) => `"${text}"`,
      )
      const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr: JSON.parse(expr) as string }))
      const file = place.write('queries.yaml', JSON.stringify({ groups: [{ name: 'queries', rules }] }))
      expect(promtool('check', 'rules', file)).toContain(`${rules.length} rules found`)
      expect(rules.length).toBeGreaterThan(8)
    },
  )

  it.skipIf(PROMETHEUS === undefined)(
    `Prometheus loads the documented configuration, and its alerts fire${PROMETHEUS === undefined ? ' (not run: not installed)' : ''}`,
    async () => {
      const [told = ''] = /(?<=```yaml\n).*?(?=```)/s.exec(read('../how-to/monitor.md')) ?? []
      const config = parse(told) as { scrape_configs: { job_name: string }[] }
      const host = (address: string) => new URL(address).host
      const targets: Readonly<Record<string, readonly string[]>> = {
        understudy: [host(cluster('A').apiAddress), host(cluster('B').apiAddress)],
        'understudy-links': [host(await addressOfLinks())],
      }
      const quick = { scrape_interval: '1s', evaluation_interval: '1s' }
      const jobs = config.scrape_configs.map((job) => ({
        ...{ ...job, scrape_interval: '1s', scrape_timeout: '1s' },
        static_configs: [{ targets: targets[job.job_name] }],
      }))
      await using prometheus = await Prometheus.start(
        PROMETHEUS ?? '',
        { ...config, global: quick, scrape_configs: jobs },
        read('alerts.yaml'),
      )
      const says = async (question: string) => JSON.stringify(await prometheus.ask(question))
      const isUp = async () => (await says('query?query=sum(up)')).includes('"3"]')
      await until(isUp)
      const alerts = async () => {
        const { alerts: all } = (await prometheus.ask('alerts')) as {
          alerts: { labels: { alertname: string }; state: string }[]
        }
        return all.map(({ labels, state }) => `${labels.alertname} ${state}`).sort()
      }
      expect(await alerts()).toEqual([])
      await skew('5s')
      expect((await home.run('fault', 'partition', 'A', 'B')).status).toBe(0)
      const both = 'UnderstudyFaultActive firing,UnderstudyLinkFaultActive firing'
      await until(async () => (await alerts()).join() === both)
      const rules = await says('rules')
      expect(rules.match(/"health":"ok"/g)).toHaveLength(7)
      await skew('0s')
      expect((await home.run('heal', '--all')).status).toBe(0)
      await until(async () => (await alerts()).length === 0)
    },
  )
})
