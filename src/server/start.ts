import { messageOf } from '../base/printable.js'
import { systemClock } from '../base/clock.js'
import { uuid } from '../base/id.js'
import type { Log } from '../base/log.js'
import { formatHostPort, type Network, parseHostPort, routedNetwork, systemNetwork } from '../base/network.js'
import { createSystemRandom, type Random } from '../base/random.js'
import type { EngineSource } from '../storage/engine/engine-source.js'
import type { SharedLog } from '../storage/shared-log/shared-log.js'
import { findLockFile } from '../storage/engine/level-engine.js'
import type { ServerConfig } from './config/config.js'
import { describeOwner, findLockOwner, findPortOwner } from '../base/process-owner.js'
import { openCopy, openSharedLog } from './data/shared-storage.js'
import { openMemoryGenerations } from '../storage/engine/memory-generations.js'
import { Peers } from './peers/peers.js'
import { Server } from './server.js'

/** The error of a server that did not start. `taken`: another process uses a port or the data directory. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
  readonly reason: 'taken' | 'failed'

  constructor(reason: 'taken' | 'failed', message: string, cause: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

interface StartParts {
  readonly network?: Network
  readonly openStorage?: () => Promise<EngineSource>
  readonly sharedLog?: SharedLog | undefined
  readonly random?: Random
  readonly requestRandom?: Random
}

/** Starts a server. Rejects with StartFailure if it cannot start. */
export const startServerFrom = async (
  config: ServerConfig,
  log: Log,
  { network = systemNetwork, ...parts }: StartParts = {},
): Promise<Server> => {
  try {
    const routed = routedNetwork(network, config.own.dialRoutes)
    const shared =
      config.storage.label === 'raft' ? await openPeers(config, log, routed) : await openShared(config, log)
    return await Server.start({ ...shared, ...parts, log, network: routed })
  } catch (error) {
    const taken = await describeTaken(error, config)
    throw new StartFailure(taken === undefined ? 'failed' : 'taken', taken ?? messageOf(error), error)
  }
}

type SharedParts = Pick<Parameters<typeof Server.start>[0], 'config' | 'sharedLog' | 'openStorage' | 'peers'>

/** Opens the shared log and this node's copy of it for storage `etcd`. Each start gives the node a new ID. */
const openShared = async (config: ServerConfig, log: Log): Promise<SharedParts> => {
  const { storage, own } = config
  if (!storage.etcd) return { config }
  const random = createSystemRandom()
  const sharedLog = await openSharedLog(storage.etcd, own.leaderLeaseMs, { clock: systemClock, random, log })
  return {
    config: { ...config, storage: { ...storage, nodeId: uuid(random) } },
    sharedLog,
    openStorage: () => openCopy(storage.path, log),
  }
}

/** Opens the node management for storage `raft`. If this server has joined a cluster, also starts its etcd process. */
const openPeers = async (config: ServerConfig, log: Log, network: Network): Promise<SharedParts> => {
  const { storage } = config
  if (storage.path === undefined) return { config }
  const context = { clock: systemClock, random: createSystemRandom(), network, log }
  const peers = await Peers.open({ ...context, config, directory: storage.path })
  const { membership } = peers
  if (membership.state === 'alone') return { config, peers }
  // A removed node cannot use its data, so the data stays unchanged. A member gets its data from the other nodes.
  const openStorage = async () => openMemoryGenerations()
  if (membership.state === 'removed') return { config, peers, openStorage }
  try {
    await peers.startNode()
    const { nodeId } = membership.member
    return { config: { ...config, storage: { ...storage, nodeId } }, peers, openStorage }
  } catch (error) {
    await peers.close()
    throw error
  }
}

/** Returns a text that names the address or directory in use and its owner; undefined for any other failure. */
const describeTaken = async (error: unknown, config: ServerConfig): Promise<string | undefined> => {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && error.code === 'EADDRINUSE') {
    const { address = '', port = 0 } = error as { address?: string; port?: number }
    const taken = (await findTakenListener(config)) ?? formatHostPort(address, port)
    const owner = describeOwner(findPortOwner(parseHostPort(taken).port))
    return `the address ${taken} is taken by another process${owner}`
  }
  const lock = findLockFile(error)
  return lock === undefined ? undefined : `${error.message}${describeOwner(findLockOwner(lock))}`
}

/**
 * Returns the API address in use; undefined if none is. The server opens its cluster port first, so the error names the
 * cluster port. Users know the API port.
 */
const findTakenListener = async ({ listeners }: ServerConfig): Promise<string | undefined> => {
  for (const { address } of listeners) {
    try {
      await (await systemNetwork.listen(address, (socket) => socket.destroy())).close()
    } catch {
      return address
    }
  }
  return undefined
}
