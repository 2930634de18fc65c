import type { Clock } from '../base/clock.js'
import { type ClusterAccess, clientOf, type WiredClusters } from './cluster.js'
import { findLag, statusOf } from './replication.js'
import { type Link, topologyOf } from './topology.js'
import { waitFor } from './wait.js'

export interface ProofOptions {
  readonly clock: Clock
  /** Bound on each wait. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** All of its topology by default. */
  readonly links?: readonly Link[]
}

/**
 * Shows that a lab replicates: writes a secret on the primary of each link and looks for it on the other side. What a
 * performance secondary serves is read there; a DR secondary serves nobody, so its merkle root is compared.
 */
export const proveReplication = async (
  lab: WiredClusters,
  { links = topologyOf(lab)?.links ?? [], ...options }: ProofOptions,
): Promise<string[]> => {
  const sentences: string[] = []
  const get = (name: string) => lab.clusters.find((cluster) => cluster.name === name)
  for (const link of links) {
    const primary = get(link.primary)
    const secondary = get(link.secondary)
    if (!primary || !secondary) continue
    sentences.push(
      link.kind === 'dr' ? await proveCopy(primary, secondary, options) : await proveRead(primary, secondary, options),
    )
  }
  return sentences
}

const MOUNT = 'rehearsal'

const proveRead = async (
  primary: ClusterAccess,
  secondary: ClusterAccess,
  { clock, timeoutMs, signal }: ProofOptions,
): Promise<string> => {
  const above = clientOf(primary)
  const below = clientOf(secondary)
  const word = `written on ${primary.name} at ${new Date(clock.now()).toISOString()}`
  await ensureMount(above)
  const started = clock.monotonic()
  await above.write(`${MOUNT}/greeting`, { word })
  await waitFor(
    clock,
    `the secret on ${secondary.name}`,
    async () => {
      const { data } = await below.read(`${MOUNT}/greeting`)
      const read = (data as { word?: unknown } | null)?.word
      return read === word ? undefined : `it reads ${JSON.stringify(read)}`
    },
    timeoutMs,
    signal,
  )
  const ms = Math.round(clock.monotonic() - started)
  above.close()
  below.close()
  return `The secret ${MOUNT}/greeting, written through ${primary.name}, was read on ${secondary.name} (performance) ${ms} ms later.`
}

const proveCopy = async (
  primary: ClusterAccess,
  secondary: ClusterAccess,
  { clock, timeoutMs, signal }: ProofOptions,
): Promise<string> => {
  const above = clientOf(primary)
  const below = clientOf({ ...secondary, rootToken: '' })
  await ensureMount(above)
  await above.write(`${MOUNT}/greeting`, { word: `for the copy on ${secondary.name}` })
  await waitFor(
    clock,
    `${secondary.name} to have the same merkle root as ${primary.name}`,
    () => findLag(above, below, 'dr'),
    timeoutMs,
    signal,
  )
  const root = String((await statusOf(below, 'dr')).merkle_root)
  above.close()
  below.close()
  return `${secondary.name} (DR) holds the same data as ${primary.name}: both have the merkle root ${root}.`
}

const ensureMount = async (client: ReturnType<typeof clientOf>): Promise<void> => {
  const mounts = await client.read('sys/mounts')
  if (mounts[`${MOUNT}/`] === undefined)
    await client.write(`sys/mounts/${MOUNT}`, { type: 'kv', options: { version: '1' } })
}
