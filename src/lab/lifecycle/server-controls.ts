import { docker, statesOf } from '../containers/docker.js'
import { sealCluster, unsealCluster, unsealWithAny } from '../keys/seals.js'
import {
  type AttachedCluster,
  type AttachedLab,
  type AttachedServer,
  type ClusterAccess,
  describeServer,
  type LabAccess,
  withAnonymousClient,
} from '../model/cluster.js'
import { commandIn } from '../model/lab-directory.js'
import { LabError } from '../model/lab-error.js'
import { cannot, type ServerVerb, type VerbOptions } from '../model/server-verbs.js'
import { chooseServersOfLab } from '../nodes/choose.js'
import { openNode } from '../nodes/nodes.js'
import type { LabHost } from '../processes/lab-host.js'
import { waitForAnswer } from '../requests/replication.js'
import { describeUnreachable } from '../requests/request-errors.js'

/** One server of a lab, wherever it runs. An absent method is not supported for servers of this kind. */
export interface ServerControls {
  readonly lab: LabAccess
  /** The name and address of the server, with the keys of its cluster. */
  readonly place: ClusterAccess
  /** Resolves to the reason why the server is down, such as `is not running`. Undefined if it runs or is suspended. */
  findDown(): Promise<string | undefined>
  /** Starts and unseals the server, and resolves to the result, for the user. */
  start(): Promise<string>
  stop(): Promise<void>
  kill(): Promise<void>
  freeze?(isFrozen: boolean): Promise<void>
  /** Deletes the data of a stopped server. */
  wipe?(): Promise<void>
}

export const NOT_RUNNING = 'is not running'

/** Actions that skip servers that are down, if the user names no server. */
const OF_RUNNING: readonly ServerVerb[] = ['resume', 'unseal']

/**
 * Resolves to true, and reports the reason, if an action skips this server. `names`: the servers that the user has
 * named.
 */
export const isSkipped = async (
  { place, findDown }: ServerControls,
  verb: ServerVerb,
  names: readonly string[],
  { onProgress }: VerbOptions,
): Promise<boolean> => {
  if (names.length > 0 || !OF_RUNNING.includes(verb)) return false
  const down = await findDown()
  if (down !== undefined) onProgress(`${describeServer(place.name)} ${down}, and was skipped`)
  return down !== undefined
}

/**
 * Runs an action on a server, and resolves to the result, for the user. If the server is already in this state,
 * succeeds. Rejects with LabError for an action that is not supported, or not possible in the current state.
 */
export const workOn = async (server: ServerControls, verb: ServerVerb): Promise<string> => {
  const { lab, place } = server
  const name = describeServer(place.name)
  const requireRunning = async () => {
    const down = await server.findDown()
    if (down === undefined) return
    throw new LabError('conflict', `${name} ${down}; "${commandIn(lab.name, `start ${place.name}`)}" starts it`)
  }
  switch (verb) {
    case 'start':
      return server.start()
    case 'stop':
      await server.stop()
      return `${name} is stopped`
    case 'restart':
      await server.stop()
      return server.start()
    case 'crash':
      await requireRunning()
      await server.kill()
      return `${name} was killed`
    case 'pause':
    case 'resume':
      if (!server.freeze) throw cannot(verb)
      await requireRunning()
      await server.freeze(verb === 'pause')
      return `${name} is ${verb === 'pause' ? 'suspended' : 'running again'}`
    case 'wipe':
      if (!server.wipe) throw cannot(verb)
      await server.wipe()
      return `the data of ${name} is removed`
    case 'unseal':
      return unsealCluster(lab, place)
    case 'seal':
      return sealCluster(lab, place)
  }
}

/**
 * Runs an action on the named clusters or nodes of an attached lab. Without names, runs it on all servers. For a server
 * that is not a local container, supports only `seal` and `unseal`.
 */
export const workOnAttached = async (
  lab: AttachedLab,
  verb: ServerVerb,
  names: readonly string[],
  options: VerbOptions,
  host: LabHost,
): Promise<void> => {
  const places = chooseServersOfLab(lab, names)
  // Starts all containers first, because a multi-node cluster responds only when most of its nodes run.
  const containers = verb === 'start' ? places.flatMap(({ server }) => server.container ?? []) : []
  if (containers.length > 1) await docker('start', ...containers)
  for (const { cluster, server } of places) {
    if (verb !== 'seal' && verb !== 'unseal') requireContainer(lab, server, verb)
    const controls = controlsOf(lab, { ...cluster, ...server }, options, host)
    if (!(await isSkipped(controls, verb, names, options))) options.onProgress(await workOn(controls, verb))
  }
}

const requireContainer = ({ name }: AttachedLab, server: AttachedServer, verb: ServerVerb): void => {
  if (server.container !== undefined) return
  throw new LabError(
    'usage',
    `the lab "${name}" is attached and cannot ${verb} ${describeServer(server.name)}: ${verb} the server at ${server.apiAddress} where it runs, or attach it with --compose if it is a container on this machine`,
  )
}

/** Time for a container to stop before Docker kills it, in seconds. */
const STOP_SECONDS = 15
const TIMEOUT_MS = 3000

/** Resolves to the reason why a server does not respond. Undefined if it responds. */
const findSilence = (place: ClusterAccess): Promise<string | undefined> =>
  withAnonymousClient(place, (client) => client.send('GET', 'sys/seal-status'), TIMEOUT_MS).then(
    () => undefined,
    (error: unknown) => {
      const silence = describeUnreachable(error)
      if (silence === undefined) throw error
      return silence
    },
  )

const controlsOf = (
  lab: AttachedLab,
  place: AttachedCluster,
  { timeoutMs, onProgress }: VerbOptions,
  { clock }: LabHost,
): ServerControls => {
  const { container = '' } = place
  const state = async () => (await statesOf([container])).get(container)
  return {
    lab,
    place,
    findDown: async () => {
      if (place.container === undefined) return findSilence(place)
      return ['running', 'paused'].includes((await state()) ?? '') ? undefined : NOT_RUNNING
    },
    start: async () => {
      await docker('start', container)
      // A node rejects the keys until most of its nodes run and it has read their data.
      if (place.nodes) await openNode({ lab, cluster: place, node: place }, { clock, timeoutMs })
      else
        await withAnonymousClient(place, async (client) => {
          await waitForAnswer(clock, client, place.name, timeoutMs)
          await unsealWithAny(client, lab, place)
        })
      return `${describeServer(place.name)} is ready at ${place.apiAddress}`
    },
    stop: async () => {
      onProgress(`stopping the container ${container}`)
      await docker('stop', '--time', String(STOP_SECONDS), container)
    },
    // `docker kill` returns before the container has exited.
    kill: async () => {
      await docker('kill', container)
      await docker('wait', container)
    },
    freeze: async (isFrozen) => {
      if (((await state()) === 'paused') !== isFrozen) await docker(isFrozen ? 'pause' : 'unpause', container)
    },
    wipe: async () => {
      const name = describeServer(place.name)
      throw new LabError('usage', `the data of ${name} is in its container: remove the container, and create a new one`)
    },
  }
}
