import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { freePorts } from './local-config.js'
import { Workplace } from './program.js'
import { until } from './until.js'

const findTool = (name: string): string | undefined =>
  [`/usr/bin/${name}`, `/usr/local/bin/${name}`].find((file) => existsSync(file))

export const PROMTOOL = findTool('promtool')
export const PROMETHEUS = findTool('prometheus')

/** A Prometheus of its own, that goes by a configuration. Disposing of it ends it. */
export class Prometheus implements AsyncDisposable {
  readonly #place = new Workplace()
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

  /** What it answers to a question of its API. */
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
