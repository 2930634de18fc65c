import { KINDS } from '../../model/kinds.js'
import type { DrillContext } from '../context/drill-context.js'
import type { DrillEvent, Sample } from '../context/result.js'
import { lagsOf, type StatusCollector, type StatusSample } from '../context/status-samples.js'
import { type Attempt, inBackground } from '../load/client.js'

const EVERY_MS = 200

export interface Sampler {
  readonly samples: readonly Sample[]
  readonly events: readonly DrillEvent[]
  /** Takes a last sample and stops. The clients must have stopped, so that the sample includes all results. */
  stop(): Promise<void>
}

/** Samples the lab every 200 ms: client results since the previous sample, lag, and role changes. */
export const startSampler = (
  context: DrillContext,
  collector: StatusCollector,
  attempts: readonly Attempt[],
): Sampler => {
  const samples: Sample[] = []
  const events: DrillEvent[] = []
  const links = new Set<string>()
  const roles = new Map<string, string>()
  let counted = 0
  const look = (statuses: readonly StatusSample[]): void => {
    const atMs = context.now()
    const fresh = attempts.slice(counted)
    counted += fresh.length
    const count = (action: 'write' | 'read', isAccepted: boolean) =>
      fresh.filter((attempt) => attempt.action === action && attempt.isAccepted === isAccepted).length
    const lags = lagsOf(statuses)
    for (const link of Object.keys(lags)) links.add(link)
    samples.push({
      atMs,
      accepted: count('write', true),
      refused: count('write', false),
      reads: count('read', true),
      readsRefused: count('read', false),
      lag: Object.fromEntries([...links].map((link) => [link, lags[link] ?? null])),
    })
    for (const one of statuses) noteRoles(one, atMs)
  }
  /** A cluster that does not respond keeps its last known role. */
  const noteRoles = ({ name, roles: current }: StatusSample, atMs: number): void => {
    if (!current) return
    for (const replication of KINDS) {
      const key = `${name} ${replication}`
      const to = current[replication].mode
      const from = roles.get(key)
      roles.set(key, to)
      if (from !== undefined && from !== to)
        events.push({ atMs, kind: 'role', cluster: name, details: { replication, from, to } })
    }
  }
  const stop = inBackground(async (signal) => {
    for (;;) {
      const isLast = signal.aborted
      look(await collector.collect())
      if (isLast) return
      await context.lab.clock.sleep(EVERY_MS, signal).catch(() => undefined)
    }
  })
  return { samples, events, stop }
}
