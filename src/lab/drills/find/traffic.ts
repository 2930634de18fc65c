import { findLag } from '../../requests/replication.js'
import type { LiveLab } from '../../live/live-lab.js'
import { LabError } from '../../model/lab-error.js'
import { waitFor } from '../../requests/wait.js'
import { findHeads, findTies } from './ties.js'

/** The mount that learners and the check use for test reads and writes. */
export const PRACTICE = 'practice'

const ARRIVES_MS = 10_000

/** Mounts `practice/` and writes a secret into it, if it does not exist yet. */
export const preparePractice = async (lab: LiveLab): Promise<void> => {
  const client = await lab.root(await requireHead(lab))
  const { json } = await client.send('GET', 'sys/mounts')
  if (json?.[`${PRACTICE}/`] === undefined) await client.write(`sys/mounts/${PRACTICE}`, { type: 'kv' })
  await client.write(`${PRACTICE}/welcome`, { text: 'every cluster that serves clients reads this' })
}

const requireHead = async (lab: LiveLab): Promise<string> => {
  const [head] = await findHeads(lab)
  if (head === undefined) throw new LabError('remote', 'no cluster accepts writes')
  return head
}

/**
 * Writes to the only writable cluster and checks that the write reaches every other cluster. Returns undefined on success, else
 * the symptom that clients see, without its cause.
 */
export const findTrouble = async (lab: LiveLab): Promise<string | undefined> => {
  for (const { name } of lab.clusters) {
    const health = await lab
      .anonymous(name)
      .send('GET', 'sys/health')
      .catch(() => undefined)
    if (!health) return `${name} does not answer`
    if (health.status === 503) return `${name} answers and serves no client`
  }
  const [head, ...others] = await findHeads(lab)
  if (head === undefined) return 'no cluster accepts writes'
  if (others.length > 0) return `${[head, ...others].join(' and ')} accept writes, and none of them follows the other`
  const marker = String(lab.clock.now())
  const writer = await lab.root(head)
  try {
    await writer.write(`${PRACTICE}/marker`, { marker })
  } catch (error) {
    return `a write on ${head} is refused: ${error instanceof Error ? error.message : String(error)}`
  }
  const ties = await findTies(lab)
  const lonely = lab.clusters.find(({ name }) => name !== head && !ties.some(({ secondary }) => secondary === name))
  if (lonely) return `${lonely.name} follows nobody`
  for (const tie of ties) {
    const missing = await findMissing(lab, tie.kind, tie.primary, tie.secondary, marker)
    if (missing !== undefined) return missing
  }
  return undefined
}

const findMissing = async (
  lab: LiveLab,
  kind: 'dr' | 'performance',
  primary: string,
  secondary: string,
  marker: string,
): Promise<string | undefined> => {
  const arrived = async () => {
    if (kind === 'dr') return findLag(lab.anonymous(primary), lab.anonymous(secondary), 'dr')
    const client = await lab.root(secondary)
    const { json } = await client.send('GET', `${PRACTICE}/marker`)
    return (json?.data as { marker?: string } | undefined)?.marker === marker ? undefined : 'it is not there'
  }
  try {
    await waitFor(lab.clock, 'a write', arrived, ARRIVES_MS)
    return undefined
  } catch (error) {
    if (!(error instanceof LabError) || error.code !== 'timeout') throw error
    return `what is written does not arrive on ${secondary} within ${ARRIVES_MS / 1000} s`
  }
}
