import path from 'node:path'
import { describeServer, isAttached, type LabRecord, type ServerRecord, serversOfLab } from '../model/cluster.js'
import { findHolder } from '../processes/claim.js'
import { findServer } from '../processes/launch.js'
import { commandIn, findConfigFiles, findIntactLab, hasRecord } from '../model/lab-directory.js'
import { listLabs } from '../model/state-directory.js'
import type { LabHost } from '../processes/lab-host.js'

/** A lab in the list of labs. Properties that its record does not contain are undefined. */
export interface LabListing {
  readonly name: string
  readonly topology: string | undefined
  /**
   * `incomplete`: the process that started the lab no longer exists. `damaged`: the record of the lab cannot be read.
   */
  readonly state: 'running' | 'partly running' | 'stopped' | 'failed' | 'incomplete' | 'damaged' | 'busy' | 'attached'
  /** Process ID of the command that is changing the lab, else of its daemon. Undefined if there is neither. */
  readonly owner: number | undefined
  /** ISO 8601. */
  readonly createdAt: string | undefined
  /** Number of clusters. Undefined if the record does not contain it. */
  readonly clusters: number | undefined
  /** Number of servers. For an attached lab, the number of clusters. */
  readonly servers: number
  /** Number of running processes. 0 for an attached lab. */
  readonly running: number
  /** Advice for the user. Empty if there is none. */
  readonly note: string
}

export const listLabStates = (host: LabHost): LabListing[] => listLabs().map((name) => describe(name, host))

const describe = (name: string, host: LabHost): LabListing => {
  const lab = findIntactLab(name)
  const common = { name, topology: lab?.topology, createdAt: lab?.createdAt, clusters: lab?.clusters.length }
  if (lab && isAttached(lab)) {
    // Sends no request to external servers, which could make the list slow.
    const note = `external servers; "understudy status --name ${name}" shows their state`
    return { ...common, state: 'attached', owner: undefined, servers: lab.clusters.length, running: 0, note }
  }
  const files =
    (lab && serversOfLab(lab).map(({ configFile }) => configFile)) ?? findConfigFiles(name).filter(isOfServer)
  const running = lab?.isInProcess
    ? serversOfLab(lab).filter((server) => findServer(lab, server, host)).length
    : host.servers.findAll(files).length
  const holder = findHolder(name, host.table)
  const keeper = lab && host.servers.find(lab.keeper.configFile, lab.keeper.process ?? undefined)
  const owner = holder?.pid ?? keeper?.pid
  const base = { ...common, owner, servers: files.length, running }
  if (holder) return { ...base, state: 'busy', note: `is being ${holder.doing} by process ${holder.pid}` }
  if (!lab && hasRecord(name)) return { ...base, state: 'damaged', note: `"understudy down ${name}" removes it` }
  if (!lab || lab.state === 'starting') {
    return { ...base, state: 'incomplete', note: `its start was killed; "understudy down ${name}" removes it` }
  }
  if (lab.state === 'failed') return { ...base, state: 'failed', note: `logs in ${lab.directory}` }
  if (running === 0) return { ...base, state: 'stopped', note: `"understudy start --name ${name}" starts it again` }
  return { ...base, state: running < files.length ? 'partly running' : 'running', note: '' }
}

interface LocalServer {
  readonly lab: LabRecord
  readonly server: ServerRecord
}

const listLocalServers = (): LocalServer[] =>
  listLabs().flatMap((name) => {
    const lab = findIntactLab(name)
    return lab && !isAttached(lab) ? serversOfLab(lab).map((server) => ({ lab, server })) : []
  })

/** Returns the ports of running servers, with the name of their lab. */
export const findLabPorts = (host: LabHost): ReadonlyMap<number, string> => {
  const running = listLocalServers().filter(({ lab, server }) => findServer(lab, server, host))
  return new Map(
    running.flatMap(({ lab, server: { ports } }) =>
      [ports.api, ports.cluster].map((port) => [port, lab.name] as const),
    ),
  )
}

/**
 * Explains why the server at a URL does not respond, with the command that starts or resumes it. Undefined if the
 * address belongs to no lab of this machine, or if the server is running.
 */
export const explainUnreachable = (url: string, host: Pick<LabHost, 'servers'>): string | undefined => {
  const found = listLocalServers().find(({ server }) => url.startsWith(`${server.apiAddress}/`))
  if (!found) return undefined
  const { name } = found.server
  const process = findServer(found.lab, found.server, host)
  if (!process) return `${describeServer(name)} is stopped; "${commandIn(found.lab.name, `start ${name}`)}" starts it`
  if (!process.isFrozen) return undefined
  return `${describeServer(name)} is paused; "${commandIn(found.lab.name, `resume ${name}`)}" resumes it`
}

/** Returns true for the configuration file of a server, and false for the file of the lab daemon. */
const isOfServer = (file: string): boolean => path.basename(file).startsWith('server-')
