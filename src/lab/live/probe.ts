import { counted } from '../../base/counted.js'
import type { ApiClient } from '../../client/api-client.js'
import { LabError } from '../model/lab-error.js'
import type { LiveLab } from './live-lab.js'
import { askStatus, askStatuses } from '../requests/replication.js'
import type { ReplicationStatuses } from '../requests/replication-status.js'
import { describeUnreachable } from '../requests/request-errors.js'
import { waitFor } from '../requests/wait.js'
import { ensureMount } from '../wiring/proof.js'

/** The times from a write on the primary until the value is visible on another cluster, in milliseconds. */
export interface LagFigures {
  readonly cluster: string
  /** Method of the observation: a read, or the WAL position of a DR secondary, which serves no reads. */
  readonly by: 'read' | 'wal'
  readonly samples: number
  readonly minMs: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly maxMs: number
  /** Number of writes that were not visible within the timeout. */
  readonly missed: number
}

export interface ProbeResult {
  readonly apiVersion: 'understudy/v1'
  readonly lab: string
  readonly primary: string
  readonly durationMs: number
  readonly writes: number
  readonly clusters: readonly LagFigures[]
  /** Clusters that cannot be measured, with reasons. */
  readonly skipped: readonly { readonly cluster: string; readonly why: string }[]
}

interface ProbeOptions {
  readonly durationMs: number
  /** Maximum time until one write is visible on one cluster, in milliseconds. */
  readonly patienceMs: number
  readonly onProgress: (text: string) => void
  /** Stops the measurement early. Completed measurements count. */
  readonly signal?: AbortSignal | undefined
}

/** A cluster on which the lag is measured. */
interface Watcher {
  readonly cluster: string
  readonly by: 'read' | 'wal'
  readonly lagsMs: number[]
  missed: number
  /** Whether the written word, or an entry at this WAL position or later, is visible on the cluster. */
  see(word: string, wal: number): Promise<boolean>
}

const MOUNT = 'understudy-probe'
/** Pause between two observations, in milliseconds. */
const PAUSE_MS = 5
/** Interval of progress messages, in milliseconds. */
const PROGRESS_MS = 1000
/** Timeout until the first value is visible on all clusters, in milliseconds. */
const SETTLE_MS = 10_000

/**
 * Measures the lag of each secondary: writes values on the performance primary one by one, and waits until each value
 * is visible on every secondary.
 */
export const probeLab = async (lab: LiveLab, options: ProbeOptions): Promise<ProbeResult> => {
  const { clock } = lab
  const { primary, watchers, skipped } = await planProbe(lab)
  const client = await lab.root(primary)
  await ensureMount(client, MOUNT)
  try {
    options.onProgress(`writing on ${primary}, measuring on ${watchers.map(({ cluster }) => cluster).join(', ')}`)
    await settle(lab, watchers, client, primary)
    const started = clock.monotonic()
    const passedMs = () => clock.monotonic() - started
    let writes = 0
    let nextProgressMs = PROGRESS_MS
    const report = () => {
      if (passedMs() < nextProgressMs) return
      options.onProgress(`${counted(writes, 'write')} after ${(passedMs() / 1000).toFixed(0)} s`)
      nextProgressMs = passedMs() + PROGRESS_MS
    }
    while (passedMs() < options.durationMs && !options.signal?.aborted) {
      const word = `${writes}`
      await client.write(`${MOUNT}/probe`, { word })
      const writtenMs = clock.monotonic()
      writes++
      const wal = await lastWalOf(lab, primary, watchers)
      await Promise.all(
        watchers.map((watcher) => watch(watcher, word, wal, writtenMs, lab, { ...options, onProgress: report })),
      )
    }
    const durationMs = Math.round(passedMs())
    const clusters = watchers.map(figuresOf)
    return { apiVersion: 'understudy/v1', lab: lab.name, primary, durationMs, writes, clusters, skipped }
  } finally {
    await client.delete(`sys/mounts/${MOUNT}`).catch(() => undefined)
  }
}

interface Plan extends Pick<ProbeResult, 'primary' | 'skipped'> {
  readonly watchers: readonly Watcher[]
}

const planProbe = async (lab: LiveLab): Promise<Plan> => {
  const skipped: { cluster: string; why: string }[] = []
  const roles: (ReplicationStatuses & { readonly name: string })[] = []
  for (const { name } of lab.clusters) {
    try {
      roles.push({ name, ...(await askStatuses(lab.anonymous(name))) })
    } catch (error) {
      skipped.push({ cluster: name, why: describeUnreachable(error) ?? `failed: ${String(error)}` })
    }
  }
  const isCopy = ({ dr }: ReplicationStatuses) => dr.mode === 'secondary'
  const serving = roles.filter((role) => !isCopy(role))
  const [primary] = serving.filter(({ performance }) => performance.mode !== 'secondary')
  if (!primary) throw new LabError('remote', `no cluster of the lab "${lab.name}" is a primary that accepts writes`)
  const watchers: Watcher[] = []
  for (const role of roles) {
    if (role === primary) continue
    // A DR secondary of a performance secondary follows a different WAL, to which the primary's positions do not apply.
    if (isCopy(role) && role.dr.clusterId === primary.dr.clusterId)
      watchers.push(await watcherOf(lab, role.name, 'wal'))
    else if (isCopy(role)) skipped.push({ cluster: role.name, why: `is not a DR secondary of ${primary.name}` })
    else if (role.performance.mode !== 'secondary')
      skipped.push({ cluster: role.name, why: 'does not replicate from a primary' })
    else watchers.push(await watcherOf(lab, role.name, 'read'))
  }
  if (watchers.length === 0) throw new LabError('remote', `${primary.name} has no secondary whose lag can be measured`)
  return { primary: primary.name, watchers, skipped }
}

const watcherOf = async (lab: LiveLab, cluster: string, by: Watcher['by']): Promise<Watcher> => {
  const client = by === 'read' ? await lab.root(cluster) : lab.anonymous(cluster)
  const see = async (word: string, wal: number) => {
    if (by === 'wal') return (await askStatus(client, 'dr')).lastWal >= wal
    const { json } = await client.send('GET', `${MOUNT}/probe`)
    return (json?.data as { word?: unknown } | undefined)?.word === word
  }
  return { cluster, by, lagsMs: [], missed: 0, see }
}

/**
 * Returns the last WAL position of the primary, which is at least that of the value. 0 if no DR secondary is measured.
 */
const lastWalOf = async (lab: LiveLab, primary: string, watchers: readonly Watcher[]): Promise<number> =>
  watchers.some(({ by }) => by === 'wal') ? (await askStatus(lab.anonymous(primary), 'dr')).lastWal : 0

/**
 * Waits until the first value is visible on all clusters, because the replication of the new mount is not part of the
 * lag.
 */
const settle = async (
  lab: LiveLab,
  watchers: readonly Watcher[],
  client: ApiClient,
  primary: string,
): Promise<void> => {
  await client.write(`${MOUNT}/probe`, { word: 'first' })
  const wal = await lastWalOf(lab, primary, watchers)
  await Promise.all(
    watchers.map((watcher) =>
      waitFor(
        lab.clock,
        `${watcher.cluster} to receive the first value`,
        async () => ((await watcher.see('first', wal)) ? undefined : whyNotThere(lab, watcher)),
        SETTLE_MS,
      ),
    ),
  )
}

const whyNotThere = async (lab: LiveLab, { cluster, by }: Watcher): Promise<string> => {
  const { connectionState } = await askStatus(lab.anonymous(cluster), by === 'wal' ? 'dr' : 'performance')
  if (connectionState !== 'ready') return `it has not arrived; the connection to the primary is ${connectionState}`
  return by === 'wal' ? 'it has not arrived yet' : 'it has not arrived; a path filter may exclude it'
}

const watch = async (
  watcher: Watcher,
  word: string,
  wal: number,
  writtenMs: number,
  { clock }: LiveLab,
  { patienceMs, signal, onProgress }: Omit<ProbeOptions, 'onProgress'> & { readonly onProgress: () => void },
): Promise<void> => {
  while (!signal?.aborted) {
    const isThere = await watcher.see(word, wal).catch(() => false)
    const lagMs = clock.monotonic() - writtenMs
    if (isThere) {
      watcher.lagsMs.push(lagMs)
      return
    }
    if (lagMs >= patienceMs) {
      watcher.missed++
      return
    }
    onProgress()
    await clock.sleep(PAUSE_MS)
  }
}

const figuresOf = ({ cluster, by, lagsMs, missed }: Watcher): LagFigures => {
  const sorted = lagsMs.toSorted((one, other) => one - other)
  return {
    cluster,
    by,
    samples: sorted.length,
    minMs: quantile(sorted, 0),
    p50Ms: quantile(sorted, 0.5),
    p95Ms: quantile(sorted, 0.95),
    maxMs: quantile(sorted, 1),
    missed,
  }
}

/** Returns a quantile of sorted values, rounded to one decimal place. 0 if there are no values. */
const quantile = (sorted: readonly number[], share: number): number => {
  const index = Math.max(0, Math.ceil(share * sorted.length) - 1)
  return Math.round((sorted[index] ?? 0) * 10) / 10
}
