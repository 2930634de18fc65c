import type { Clock } from '../../base/clock.js'
import type { ApiClient } from '../../client/api-client.js'
import {
  type ClusterKeys,
  type ClusterRecord,
  describeServer,
  type LabRecord,
  type ServerRecord,
  withClusterKeys,
} from '../model/cluster.js'
import { waitForAnswer } from '../requests/replication.js'
import { unsealWithAny } from '../keys/seals.js'
import { openCluster } from '../wiring/wire.js'
import { requireLab, saveLab } from '../model/lab-directory.js'

/** A running server that is a cluster by itself, or whose data is outside the process. */
interface Place {
  readonly lab: LabRecord
  readonly cluster: ClusterRecord
  readonly server: ServerRecord
}

interface Bounds {
  readonly clock: Clock
  readonly timeoutMs: number
}

/** Unseals a server that has just started and responds. A server without data, as on a new machine, is initialized first. */
export const openStarted = async (
  { lab, cluster, server }: Place,
  client: ApiClient,
  { clock, timeoutMs }: Bounds,
): Promise<string> => {
  const { initialized } = await client.read('sys/seal-status')
  if (initialized !== false || cluster.nodes) {
    await unsealWithAny(client, lab, cluster)
    return `${describeServer(server.name)} is open at ${server.apiAddress}`
  }
  const seal = {
    type: cluster.sealKeyFile === undefined ? 'shamir' : 'auto',
    shares: Math.max(cluster.unsealKeys.length, 1),
    threshold: Math.max(cluster.threshold, 1),
  } as const
  const keep = ({ rootToken, unsealKeys, threshold }: ClusterKeys) =>
    saveLab(withClusterKeys(requireLab(lab.name), cluster.name, { rootToken, unsealKeys, threshold }))
  await openCluster<ClusterRecord>(cluster, {
    ...seal,
    plans: { [cluster.name]: { seal } },
    clock,
    timeoutMs,
    onProgress: () => undefined,
    onKeys: keep,
  })
  return `${describeServer(server.name)} had no data, and is a new cluster at ${server.apiAddress}`
}

/** Unseals a running server that was left sealed, for example by an interrupted start. */
export const openRunning = async (place: Place, client: ApiClient, bounds: Bounds): Promise<string> => {
  await waitForAnswer(bounds.clock, client, place.server.name, bounds.timeoutMs)
  const { initialized, sealed, recovery_seal: isAuto } = await client.read('sys/seal-status')
  if (sealed !== true || (isAuto === true && initialized === true))
    return `${describeServer(place.server.name)} is running`
  return openStarted(place, client, bounds)
}
