import { messageOf } from '../../../base/printable.js'
import type { LiveLab } from '../../live/live-lab.js'
import { LabError } from '../../model/lab-error.js'
import type { Link } from '../../model/topology.js'
import { findLag } from '../../requests/replication.js'
import { waitFor } from '../../requests/wait.js'
import { collectOnce, replicationLinks, rolesNow, writableClusters } from '../context/status-samples.js'

/** The mount for test reads and writes by participants and by the check. */
export const PRACTICE = 'practice'

const ARRIVES_MS = 10_000

/** A secondary with its current primary. */
export interface ReplicationLink extends Pick<Link, 'kind' | 'primary' | 'secondary'> {
  /** The ID of the secondary at the primary. */
  readonly id: string
}

/** Finds the current replication links, performance links first. Ignores clusters that do not respond. */
export const findReplicationLinks = async (lab: LiveLab): Promise<readonly ReplicationLink[]> => {
  const roles = await rolesNow(lab)
  const links = replicationLinks(roles).map(({ kind, primary, secondary }) => {
    const id = roles.find(({ name }) => name === secondary)?.[kind].secondaryId ?? ''
    return { kind, primary, secondary, id }
  })
  return [...links.filter(({ kind }) => kind === 'performance'), ...links.filter(({ kind }) => kind === 'dr')]
}

/**
 * Mounts `practice/` if it does not exist yet, and writes a secret into it. Rejects with LabError `remote` if no
 * cluster accepts writes.
 */
export const preparePractice = async (lab: LiveLab): Promise<void> => {
  const [primary] = writableClusters(await collectOnce(lab))
  if (primary === undefined) throw new LabError('remote', 'no cluster accepts writes')
  const client = await lab.root(primary)
  const { json } = await client.send('GET', 'sys/mounts')
  if (json?.[`${PRACTICE}/`] === undefined) await client.write(`sys/mounts/${PRACTICE}`, { type: 'kv' })
  await client.write(`${PRACTICE}/welcome`, { text: 'every cluster that serves clients reads this' })
}

/**
 * Writes to the only writable cluster and checks that the write reaches every other cluster. Returns undefined on
 * success, else the symptom that clients see, without its cause.
 */
export const findTrouble = async (lab: LiveLab): Promise<string | undefined> => {
  const samples = await collectOnce(lab)
  for (const { name, health } of samples) {
    if (health === null) return `${name} does not respond`
    if (health === 503) return `${name} responds, but serves no clients`
  }
  const [primary, ...others] = writableClusters(samples)
  if (primary === undefined) return 'no cluster accepts writes'
  if (others.length > 0)
    return `${[primary, ...others].join(' and ')} accept writes, but do not replicate from each other`
  const marker = String(lab.clock.now())
  const writer = await lab.root(primary)
  try {
    await writer.write(`${PRACTICE}/marker`, { marker })
  } catch (error) {
    return `${primary} rejects a write: ${messageOf(error)}`
  }
  const links = await findReplicationLinks(lab)
  const isSecondary = (name: string) => links.some(({ secondary }) => secondary === name)
  const alone = lab.clusters.find(({ name }) => name !== primary && !isSecondary(name))
  if (alone) return `${alone.name} replicates from no primary`
  for (const link of links) {
    const missing = await findMissing(lab, link, marker)
    if (missing !== undefined) return missing
  }
  return undefined
}

const findMissing = async (
  lab: LiveLab,
  { kind, primary, secondary }: ReplicationLink,
  marker: string,
): Promise<string | undefined> => {
  const arrived = async () => {
    if (kind === 'dr') return findLag(lab.anonymous(primary), lab.anonymous(secondary), 'dr')
    const client = await lab.root(secondary)
    const { json } = await client.send('GET', `${PRACTICE}/marker`)
    return (json?.data as { marker?: string } | undefined)?.marker === marker ? undefined : 'it has not arrived'
  }
  try {
    await waitFor(lab.clock, 'a write', arrived, ARRIVES_MS)
    return undefined
  } catch (error) {
    if (!(error instanceof LabError) || error.code !== 'timeout') throw error
    return `writes do not arrive on ${secondary} within ${ARRIVES_MS / 1000} s`
  }
}
