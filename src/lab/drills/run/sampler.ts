import type { Clock } from '../../../base/clock.js'
import type { Ledger } from '../load/ledger.js'
import type { DrillEvent, Sample } from '../context/result.js'
import { lagsOf, type StatusCollector, type StatusSample } from '../context/status-samples.js'
import { KINDS } from '../../model/kinds.js'

const EVERY_MS = 200

interface SamplerOptions {
  readonly clock: Clock
  readonly collector: StatusCollector
  /** Undefined without a load. */
  readonly ledger: Ledger | undefined
  readonly now: () => number
}

/** Samples the lab a few times per second: client results since the last sample, lag, and role changes. */
export class Sampler {
  readonly samples: Sample[] = []
  readonly events: DrillEvent[] = []
  readonly #options: SamplerOptions
  readonly #stop = new AbortController()
  readonly #links = new Set<string>()
  readonly #roles = new Map<string, string>()
  #counted = 0
  #running: Promise<void> = Promise.resolve()

  constructor(options: SamplerOptions) {
    this.#options = options
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  /** Takes the last sample after the end, so that it includes all client results. */
  async #run(): Promise<void> {
    const { clock, collector } = this.#options
    for (;;) {
      const isLast = this.#stop.signal.aborted
      this.#look(await collector.collect())
      if (isLast) return
      await clock.sleep(EVERY_MS, this.#stop.signal).catch(() => undefined)
    }
  }

  #look(statuses: readonly StatusSample[]): void {
    const { ledger, now } = this.#options
    const atMs = now()
    const fresh = ledger?.attempts.slice(this.#counted) ?? []
    this.#counted += fresh.length
    const count = (action: 'write' | 'read', isAccepted: boolean) =>
      fresh.filter((attempt) => attempt.action === action && attempt.isAccepted === isAccepted).length
    const lags = lagsOf(statuses)
    for (const link of Object.keys(lags)) this.#links.add(link)
    this.samples.push({
      atMs,
      accepted: count('write', true),
      refused: count('write', false),
      reads: count('read', true),
      readsRefused: count('read', false),
      lag: Object.fromEntries([...this.#links].map((link) => [link, lags[link] ?? null])),
    })
    for (const one of statuses) this.#noteRoles(one, atMs)
  }

  /** A cluster that does not respond keeps its last known role. */
  #noteRoles({ name, roles }: StatusSample, atMs: number): void {
    if (!roles) return
    for (const replication of KINDS) {
      const key = `${name} ${replication}`
      const to = roles[replication].mode
      const from = this.#roles.get(key)
      this.#roles.set(key, to)
      if (from !== undefined && from !== to)
        this.events.push({ atMs, kind: 'role', cluster: name, details: { replication, from, to } })
    }
  }
}
