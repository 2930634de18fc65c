import { type AttachedCluster, type AttachedLab, clientOf } from '../cluster.js'
import { LabError } from '../lab-error.js'
import { waitForAnswer } from '../replication.js'
import type { LabHost } from '../lifecycle/lab-host.js'
import { sealCluster, unsealCluster, unsealWithAny } from '../seals.js'
import type { ProcessVerb, ServerVerb, VerbOptions } from '../server-verbs.js'
import { docker, statesOf } from './docker.js'

/** Does one thing to servers that somebody else runs. Beyond their API they can be reached where they are containers of this machine. */
export const workOnAttached = async (
  lab: AttachedLab,
  verb: ServerVerb,
  clusters: readonly AttachedCluster[],
  options: VerbOptions,
  host: LabHost,
): Promise<void> => {
  for (const cluster of clusters) {
    if (verb === 'seal') options.onProgress(await sealCluster(lab, cluster))
    else if (verb === 'unseal') options.onProgress(await unsealCluster(lab, cluster))
    else
      options.onProgress(await VERBS[verb]({ lab, cluster, container: containerOf(lab, cluster, verb), options, host }))
  }
}

interface Work {
  readonly lab: AttachedLab
  readonly cluster: AttachedCluster
  readonly container: string
  readonly options: VerbOptions
  readonly host: LabHost
}

const containerOf = ({ name }: AttachedLab, cluster: AttachedCluster, verb: ServerVerb): string => {
  if (cluster.container !== undefined) return cluster.container
  throw new LabError(
    'usage',
    `the lab "${name}" is attached: it cannot ${verb} cluster ${cluster.name}, which somebody else runs at ${cluster.apiAddress}; do it there, or attach with --compose when it is a container of this machine`,
  )
}

/** A container that does not run cannot be killed or frozen: that is a conflict, as with processes. */
const requireRunning = async ({ cluster, container }: Work): Promise<void> => {
  const state = (await statesOf([container])).get(container)
  if (state === 'running' || state === 'paused') return
  throw new LabError('conflict', `cluster ${cluster.name} is not running; "understudy start ${cluster.name}" starts it`)
}

const start = async (work: Work): Promise<string> => {
  const { lab, cluster, container, options, host } = work
  await docker('start', container)
  const client = clientOf({ ...cluster, rootToken: '' })
  try {
    await waitForAnswer(host.clock, client, cluster.name, options.timeoutMs)
    await unsealWithAny(client, lab, cluster)
    return `cluster ${cluster.name} is open at ${cluster.apiAddress}`
  } finally {
    client.close()
  }
}

const stop = async ({ cluster, container, options }: Work): Promise<string> => {
  options.onProgress(`stopping the container ${container}`)
  await docker('stop', '--time', String(STOP_SECONDS), container)
  return `cluster ${cluster.name} is stopped`
}

const STOP_SECONDS = 15

/** The exit of a container is seen a moment after the signal. */
const crash = async (work: Work): Promise<string> => {
  await requireRunning(work)
  await docker('kill', work.container)
  await docker('wait', work.container)
  return `cluster ${work.cluster.name} was killed`
}

const pause = async (work: Work): Promise<string> => {
  await requireRunning(work)
  if ((await stateOf(work)) !== 'paused') await docker('pause', work.container)
  return `cluster ${work.cluster.name} is frozen`
}

const resume = async (work: Work): Promise<string> => {
  await requireRunning(work)
  if ((await stateOf(work)) === 'paused') await docker('unpause', work.container)
  return `cluster ${work.cluster.name} goes on`
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
}
