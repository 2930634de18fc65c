import { systemClock } from '../../base/clock.js'
import { type ApiClient, ApiUnreachable } from '../../client/api-client.js'
import {
  type ClusterAccess,
  describeServer,
  type LabAccess,
  withAnonymousClient,
  withClient,
} from '../model/cluster.js'
import { sharesToTry, tokensToTry } from './environment.js'
import { LabError } from '../model/lab-error.js'
import { unseal } from '../requests/replication.js'
import { commandIn } from '../model/lab-directory.js'
import { nameUnreachable } from '../requests/request-errors.js'
import { waitFor } from '../requests/wait.js'

/** Seals and unseals clusters of any kind of lab with keys of the lab. */

/** Unseals a cluster, and resolves to the result for the user. Rejects with LabError `remote` if no key unseals it. */
export const unsealCluster = (lab: LabAccess, cluster: ClusterAccess): Promise<string> =>
  withAnonymousClient(cluster, async (client) => {
    const { isSealed, isAuto } = await sealOf(client)
    // Auto-unseal runs only when a server starts and is not retried, so waiting is useless.
    if (isSealed && isAuto)
      throw new LabError(
        'remote',
        `${describeServer(cluster.name)} uses auto-unseal, which runs only when the server starts, and recovery keys cannot unseal a server; "${commandIn(lab.name, `restart ${cluster.name}`)}" unseals it`,
      )
    if (isSealed) await tryKeys(client, lab, cluster)
    return `${describeServer(cluster.name)} is unsealed`
  })

/** Unseals a newly started server with any keys of the lab, or waits for its auto-unseal. */
export const unsealWithAny = async (
  client: ApiClient,
  lab: Pick<LabAccess, 'clusters'>,
  cluster: ClusterAccess,
): Promise<void> => {
  const { isSealed, isAuto } = await sealOf(client)
  if (!isSealed) return
  if (!isAuto) return tryKeys(client, lab, cluster)
  return waitForAutoUnseal(client, cluster.name, `"understudy restart ${cluster.name}" tries again`)
}

const sealOf = async (client: ApiClient): Promise<{ readonly isSealed: boolean; readonly isAuto: boolean }> => {
  const { sealed, recovery_seal: recoverySeal } = await client.read('sys/seal-status')
  return { isSealed: sealed === true, isAuto: recoverySeal === true }
}

/**
 * Tries the cluster's own keys first, then the keys of clusters from which it may have replicated. Rejects with
 * LabError `remote` if no key unseals the server.
 */
const tryKeys = async (client: ApiClient, lab: Pick<LabAccess, 'clusters'>, cluster: ClusterAccess): Promise<void> => {
  let refusal = ''
  for (const { unsealKeys, threshold } of sharesToTry(cluster, lab.clusters)) {
    await client.call('PUT', 'sys/unseal', { body: { reset: true } })
    await unseal(client, unsealKeys.slice(0, threshold)).catch((error: unknown) => {
      // Keeps the first error, because the first shares are the cluster's own shares, if the lab has them.
      if (refusal === '' && error instanceof Error) refusal = error.message
    })
    if (!(await sealOf(client)).isSealed) return
  }
  const why =
    refusal === '' ? 'the unseal with its keys is not complete yet' : `no key of the lab unseals it (${refusal})`
  throw new LabError('remote', `${describeServer(cluster.name)} is still sealed: ${why}`)
}

/** Timeout of auto-unseal, in milliseconds. Sufficient for a machine that starts many processes at once. */
const AUTO_UNSEAL_MS = 15_000

/**
 * Waits for auto-unseal after a start, since recovery keys cannot unseal a server. `fix`: the next step, for the error.
 */
export const waitForAutoUnseal = async (client: ApiClient, name: string, fix: string): Promise<void> => {
  const fact = async () => ((await sealOf(client)).isSealed ? 'it is sealed' : undefined)
  await waitFor(systemClock, `the auto-unseal of cluster ${name}`, fact, AUTO_UNSEAL_MS).catch((error: unknown) => {
    throw new LabError('remote', `cluster ${name} did not unseal automatically; ${fix}`, { cause: error })
  })
}

/**
 * Seals a cluster, and resolves to the result for the user. Rejects with LabError `remote` if no token of the lab is
 * valid.
 */
export const sealCluster = async (lab: LabAccess, cluster: ClusterAccess): Promise<string> => {
  let failure: unknown
  for (const rootToken of tokensToTry(cluster, lab.clusters)) {
    try {
      await withClient({ ...cluster, rootToken }, (client) => client.write('sys/seal'))
      return `${describeServer(cluster.name)} is sealed`
    } catch (error) {
      if (error instanceof ApiUnreachable) throw nameUnreachable(cluster, error)
      failure = error
    }
  }
  const reason = failure instanceof Error ? failure.message : 'the lab has no token'
  throw new LabError('remote', `${describeServer(cluster.name)} could not be sealed: ${reason}`)
}
