import { counted } from '../../base/counted.js'
import { inStep } from '../../base/progress.js'
import type { ApiClient } from '../../client/api-client.js'
import { type WiredClusters, withClient } from '../model/cluster.js'
import type { Kind } from '../model/kinds.js'
import { askStatus, findLag } from '../requests/replication.js'
import { throughRestart } from '../requests/request-errors.js'
import type { Link } from '../model/topology.js'
import { topologyOf } from '../topology/catalogue.js'
import { waitFor, type WaitOptions } from '../requests/wait.js'

interface ProofOptions extends WaitOptions {
  /** Default: all links of the topology. */
  readonly links?: readonly Link[]
}

/**
 * Verifies replication: writes a secret on the primary of each link, and checks the secondary. Reads the secret on
 * performance secondaries. Compares the Merkle root of DR secondaries, because they serve no reads.
 */
export const proveReplication = (lab: WiredClusters, options: ProofOptions): Promise<string[]> =>
  inStep(
    'verify replication',
    () => prove(lab, options),
    (sentences) => `verified ${counted(sentences.length, 'link')}`,
  )

const prove = async (
  lab: WiredClusters,
  { links = topologyOf(lab)?.links ?? [], ...options }: ProofOptions,
): Promise<string[]> => {
  const sentences: string[] = []
  const get = (name: string) => lab.clusters.find((cluster) => cluster.name === name)
  for (const link of links) {
    const primary = get(link.primary)
    const secondary = get(link.secondary)
    if (!primary || !secondary) continue
    const below = link.kind === 'dr' ? { ...secondary, rootToken: '' } : secondary
    const sentence = await withClient(primary, (onPrimary) =>
      withClient(below, async (onSecondary) => {
        const wait = (fact: () => Promise<string | undefined>) =>
          waitFor(options.clock, `${primary.name} to serve requests`, fact, options.timeoutMs, options.signal)
        await throughRestart(wait, () => ensureMount(onPrimary, MOUNT))
        return PROVE[link.kind](onPrimary, onSecondary, { primary: primary.name, secondary: secondary.name }, options)
      }),
    )
    sentences.push(sentence)
  }
  return sentences
}

const MOUNT = 'rehearsal'

type Prove = (
  above: ApiClient,
  below: ApiClient,
  names: { readonly primary: string; readonly secondary: string },
  options: ProofOptions,
) => Promise<string>

const proveRead: Prove = async (above, below, { primary, secondary }, { clock, timeoutMs, signal }) => {
  const word = `written on ${primary} at ${new Date(clock.now()).toISOString()}`
  const started = clock.monotonic()
  await above.write(`${MOUNT}/greeting`, { word })
  const fact = async () => {
    const { data } = await below.read(`${MOUNT}/greeting`)
    const read = (data as { word?: unknown } | null)?.word
    return read === word ? undefined : `it reads ${JSON.stringify(read)}`
  }
  await waitFor(clock, `the secret on ${secondary}`, fact, timeoutMs, signal)
  const ms = Math.round(clock.monotonic() - started)
  return `The secret ${MOUNT}/greeting, written through ${primary}, was read on ${secondary} (performance) ${ms} ms later.`
}

const proveCopy: Prove = async (above, below, { primary, secondary }, { clock, timeoutMs, signal }) => {
  await above.write(`${MOUNT}/greeting`, { word: `for the copy on ${secondary}` })
  const what = `${secondary} to have the same merkle root as ${primary}`
  await waitFor(clock, what, () => findLag(above, below, 'dr'), timeoutMs, signal)
  const { merkleRoot } = await askStatus(below, 'dr')
  return `${secondary} (DR) holds the same data as ${primary}: both have the merkle root ${merkleRoot}.`
}

const PROVE: Readonly<Record<Kind, Prove>> = { dr: proveCopy, performance: proveRead }

/** Mounts a secrets engine for unversioned values, unless something is mounted there. */
export const ensureMount = async (client: ApiClient, mount: string): Promise<void> => {
  const mounts = await client.read('sys/mounts')
  if (mounts[`${mount}/`] === undefined)
    await client.write(`sys/mounts/${mount}`, { type: 'kv', options: { version: '1' } })
}
