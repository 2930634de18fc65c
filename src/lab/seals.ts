import { systemClock } from '../base/clock.js'
import type { ApiClient } from '../client/api-client.js'
import { type ClusterAccess, clientOf, type LabAccess } from './cluster.js'
import { LabError } from './lab-error.js'
import { unseal } from './replication.js'
import { waitFor } from './wait.js'

/** Sealing and unsealing with what a lab holds, wherever its clusters run. Both say what was done. */

export const unsealCluster = async (lab: LabAccess, cluster: ClusterAccess): Promise<string> => {
  const client = clientOf({ ...cluster, rootToken: '' })
  try {
    const { sealed, recovery_seal: isRecovery } = await client.read('sys/seal-status')
    // It has tried when it started, and does not again: nothing is to be waited for.
    if (sealed === true && isRecovery === true)
      throw new LabError(
        'remote',
        `cluster ${cluster.name} unseals by itself when it starts, and its recovery keys open nothing: "understudy restart ${cluster.name}" opens it`,
      )
    await unsealWithAny(client, lab, cluster)
    return `cluster ${cluster.name} is unsealed`
  } finally {
    client.close()
  }
}

/** Tries the cluster's own keys first; a cluster that followed another one since has that one's. */
export const unsealWithAny = async (
  client: ApiClient,
  lab: Pick<LabAccess, 'clusters'>,
  cluster: ClusterAccess,
): Promise<void> => {
  const isSealed = async () => (await client.read('sys/seal-status')).sealed === true
  if (!(await isSealed())) return
  if ((await client.read('sys/seal-status')).recovery_seal === true) {
    const mend = `it does so when it starts; "understudy restart ${cluster.name}"`
    return waitForAutoUnseal(client, cluster.name, mend)
  }
  const others = lab.clusters.filter(({ name }) => name !== cluster.name)
  const tried = new Set<string>()
  for (const { unsealKeys, threshold } of [cluster, ...others]) {
    const keys = unsealKeys.slice(0, threshold)
    if (keys.length === 0 || tried.has(keys.join())) continue
    tried.add(keys.join())
    await client.call('PUT', 'sys/unseal', { body: { reset: true } })
    await unseal(client, keys).catch(() => undefined)
    if (!(await isSealed())) return
  }
  throw new LabError('remote', `cluster ${cluster.name} stays sealed: none of the keys that the lab holds opens it`)
}

/** A machine that starts much at once is slow. */
const AUTO_UNSEAL_MS = 15_000

/** Waits for a server that has just started and opens by itself; its keys are recovery keys, which open nothing. */
export const waitForAutoUnseal = async (client: ApiClient, name: string, mend: string): Promise<void> => {
  const fact = async () => ((await client.read('sys/seal-status')).sealed === true ? 'it is sealed' : undefined)
  await waitFor(systemClock, `cluster ${name} to unseal itself`, fact, AUTO_UNSEAL_MS).catch((error: unknown) => {
    throw new LabError('remote', `cluster ${name} unseals by itself, and has not: ${mend}`, { cause: error })
  })
}

export const sealCluster = async (lab: LabAccess, cluster: ClusterAccess): Promise<string> => {
  const reasons: string[] = []
  const tokens = new Set([cluster, ...lab.clusters].map(({ rootToken }) => rootToken).filter((token) => token !== ''))
  for (const rootToken of tokens) {
    const client = clientOf({ ...cluster, rootToken })
    try {
      await client.write('sys/seal')
      return `cluster ${cluster.name} is sealed`
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error))
    } finally {
      client.close()
    }
  }
  throw new LabError(
    'remote',
    `cluster ${cluster.name} could not be sealed: ${reasons.at(-1) ?? 'the lab holds no token'}`,
  )
}
