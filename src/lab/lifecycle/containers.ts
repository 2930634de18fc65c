import {
  type AttachedCluster,
  type AttachedLab,
  type AttachedServer,
  type ClusterAccess,
  clientOf,
  describeServer,
} from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { waitForAnswer } from '../requests/replication.js'
import { choosePlaces } from '../nodes/choose.js'
import { commandIn } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import { sealCluster, unsealCluster, unsealWithAny } from '../keys/seals.js'
import type { ProcessVerb, ServerVerb, VerbOptions } from '../model/server-verbs.js'
import { docker, statesOf } from '../containers/docker.js'

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
  const places = choosePlaces<AttachedServer, AttachedCluster>(lab, names)
  // A multi-node cluster does not respond before most of its nodes run, so all are started first.
  const containers = verb === 'start' ? places.flatMap(({ server }) => server.container ?? []) : []
  if (containers.length > 1) await docker('start', ...containers)
  for (const { cluster, server } of places) {
    const place = { ...cluster, ...server }
    if (verb === 'seal') options.onProgress(await sealCluster(lab, place))
    else if (verb === 'unseal') options.onProgress(await unsealCluster(lab, place))
    else options.onProgress(await VERBS[verb]({ lab, place, container: containerOf(lab, place, verb), options, host }))
  }
}

interface Work {
  readonly lab: AttachedLab
  /** The keys of the cluster, at the address of one server. */
  readonly place: AttachedServer & ClusterAccess
  readonly container: string
  readonly options: VerbOptions
  readonly host: LabHost
}

const containerOf = ({ name }: AttachedLab, server: AttachedServer, verb: ServerVerb): string => {
  if (server.container !== undefined) return server.container
  throw new LabError(
    'usage',
    `the lab "${name}" is attached: it cannot ${verb} ${describeServer(server.name)}, which the lab does not run, at ${server.apiAddress}; do it there, or attach with --compose when it is a container of this machine`,
  )
}

/** Rejects with a conflict if the container is not running, as for processes: it cannot be killed or paused. */
const requireRunning = async ({ lab, place, container }: Work): Promise<void> => {
  const state = (await statesOf([container])).get(container)
  if (state === 'running' || state === 'paused') return
  throw new LabError(
    'conflict',
    `${describeServer(place.name)} is not running; "${commandIn(lab.name, `start ${place.name}`)}" starts it`,
  )
}

const start = async (work: Work): Promise<string> => {
  const { lab, place, container, options, host } = work
  await docker('start', container)
  const client = clientOf({ ...place, rootToken: '' })
  try {
    await waitForAnswer(host.clock, client, place.name, options.timeoutMs)
    await unsealWithAny(client, lab, place)
    return `${describeServer(place.name)} is open at ${place.apiAddress}`
  } finally {
    client.close()
  }
}

const stop = async ({ place, container, options }: Work): Promise<string> => {
  options.onProgress(`stopping the container ${container}`)
  await docker('stop', '--time', String(STOP_SECONDS), container)
  return `${describeServer(place.name)} is stopped`
}

const STOP_SECONDS = 15

/** Kills a container, and waits until Docker reports its exit, shortly after the signal. */
const crash = async (work: Work): Promise<string> => {
  await requireRunning(work)
  await docker('kill', work.container)
  await docker('wait', work.container)
  return `${describeServer(work.place.name)} was killed`
}

const pause = async (work: Work): Promise<string> => {
  await requireRunning(work)
  if ((await stateOf(work)) !== 'paused') await docker('pause', work.container)
  return `${describeServer(work.place.name)} is frozen`
}

const resume = async (work: Work): Promise<string> => {
  await requireRunning(work)
  if ((await stateOf(work)) === 'paused') await docker('unpause', work.container)
  return `${describeServer(work.place.name)} goes on`
}

const stateOf = async ({ container }: Work) => (await statesOf([container])).get(container)

const VERBS: Readonly<Record<ProcessVerb, (work: Work) => Promise<string>>> = {
  start,
  stop,
  restart: async (work) => {
    await stop(work)
    return start(work)
  },
  crash,
  pause,
  resume,
  wipe: async ({ place: { name } }) => {
    throw new LabError(
      'usage',
      `the data of ${describeServer(name)} lies in its container: remove that, and make a new one`,
    )
  },
}
