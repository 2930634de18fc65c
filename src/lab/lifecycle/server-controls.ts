import { type AnyLab, type ClusterAccess, describeServer } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { cannot, type ServerVerb } from '../model/server-verbs.js'
import { commandIn } from '../model/lab-directory.js'
import { sealCluster, unsealCluster } from '../keys/seals.js'

/** One server of a lab, wherever it runs. An absent method: servers of this kind cannot do that separately. */
export interface ServerControls {
  readonly lab: AnyLab
  /** The keys of its cluster, at its own name and address. */
  readonly place: ClusterAccess
  /** Whether it runs or is suspended. */
  isRunning(): Promise<boolean>
  /** Resolves to the result, for the user. */
  start(): Promise<string>
  stop(): Promise<void>
  kill(): Promise<void>
  freeze?(isFrozen: boolean): Promise<void>
  /** Deletes the data. Rejects if the server is running. */
  wipe?(): Promise<void>
}

/** Runs an action on a server, and resolves to its result. A state that is already reached is not an error. */
export const workOn = async (server: ServerControls, verb: ServerVerb): Promise<string> => {
  const { lab, place } = server
  const name = describeServer(place.name)
  const requireRunning = async () => {
    if (await server.isRunning()) return
    const command = commandIn(lab.name, `start ${place.name}`)
    throw new LabError('conflict', `${name} is not running; "${command}" starts it`)
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
      if (!server.freeze) throw cannot(`"${verb}"`, 'in-process')
      await requireRunning()
      await server.freeze(verb === 'pause')
      return `${name} ${verb === 'pause' ? 'is frozen' : 'goes on'}`
    case 'wipe':
      if (!server.wipe) throw cannot('"wipe"', 'in-process')
      await server.wipe()
      return `${name} has no data any more`
    case 'unseal':
      return unsealCluster(lab, place)
    case 'seal':
      return sealCluster(lab, place)
  }
}
