import {
  type AttachedCluster,
  type AttachedLab,
  type AttachedServer,
  type ClusterAccess,
  describeServer,
  withAnonymousClient,
} from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { waitForAnswer } from '../requests/replication.js'
import { chooseServersOfLab } from '../nodes/choose.js'
import type { LabHost } from '../processes/lab-host.js'
import { unsealWithAny } from '../keys/seals.js'
import type { ServerVerb, VerbOptions } from '../model/server-verbs.js'
import { docker, statesOf } from '../containers/docker.js'
import { type ServerControls, workOn } from './server-controls.js'

/**
 * Runs an action on externally managed servers: on those of the named clusters or nodes, or on all without names. Actions beyond
 * the API require that they are local containers.
 */
export const workOnAttached = async (
  lab: AttachedLab,
  verb: ServerVerb,
  names: readonly string[],
  options: VerbOptions,
  host: LabHost,
): Promise<void> => {
  const places = chooseServersOfLab<AttachedServer, AttachedCluster>(lab, names)
  // A multi-node cluster does not respond before most of its nodes run, so all are started first.
  const containers = verb === 'start' ? places.flatMap(({ server }) => server.container ?? []) : []
  if (containers.length > 1) await docker('start', ...containers)
  for (const { cluster, server } of places) {
    if (verb !== 'seal' && verb !== 'unseal') requireContainer(lab, server, verb)
    options.onProgress(await workOn(controlsOf(lab, { ...cluster, ...server }, options, host), verb))
  }
}

const requireContainer = ({ name }: AttachedLab, server: AttachedServer, verb: ServerVerb): void => {
  if (server.container !== undefined) return
  throw new LabError(
    'usage',
    `the lab "${name}" is attached: it cannot ${verb} ${describeServer(server.name)}, which the lab does not run, at ${server.apiAddress}; do it there, or attach with --compose when it is a container of this machine`,
  )
}

const STOP_SECONDS = 15

const controlsOf = (
  lab: AttachedLab,
  place: AttachedServer & ClusterAccess,
  { timeoutMs, onProgress }: VerbOptions,
  { clock }: LabHost,
): ServerControls => {
  const { container = '' } = place
  const state = async () => (await statesOf([container])).get(container)
  return {
    lab,
    place,
    isRunning: async () => ['running', 'paused'].includes((await state()) ?? ''),
    start: async () => {
      await docker('start', container)
      await withAnonymousClient(place, async (client) => {
        await waitForAnswer(clock, client, place.name, timeoutMs)
        await unsealWithAny(client, lab, place)
      })
      return `${describeServer(place.name)} is open at ${place.apiAddress}`
    },
    stop: async () => {
      onProgress(`stopping the container ${container}`)
      await docker('stop', '--time', String(STOP_SECONDS), container)
    },
    // Docker reports the exit shortly after the signal.
    kill: async () => {
      await docker('kill', container)
      await docker('wait', container)
    },
    freeze: async (isFrozen) => {
      if (((await state()) === 'paused') !== isFrozen) await docker(isFrozen ? 'pause' : 'unpause', container)
    },
    wipe: async () => {
      const name = describeServer(place.name)
      throw new LabError('usage', `the data of ${name} lies in its container: remove that, and make a new one`)
    },
  }
}
