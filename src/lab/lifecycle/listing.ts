import path from 'node:path'
import { type AnyLab, type AttachedLab, isAttached, serversOfLab } from '../model/cluster.js'
import { findHolder } from '../processes/claim.js'
import { findServer } from '../processes/cluster-server.js'
import { findConfigFiles, findLab } from '../model/lab-directory.js'
import { listLabs } from '../model/state-directory.js'
import type { LabHost } from '../processes/lab-host.js'

/** A lab as a list shows it; what its record does not tell is undefined. */
export interface LabListing {
  readonly name: string
  readonly topology: string | undefined
  /** `incomplete`: whoever started it is gone. `damaged`: its record cannot be read. */
  readonly state: 'running' | 'partly running' | 'stopped' | 'failed' | 'incomplete' | 'damaged' | 'busy' | 'attached'
  /** The process that has it in its hands: a command that changes it, else its keeper; undefined when there is none. */
  readonly owner: number | undefined
  /** ISO 8601. */
  readonly createdAt: string | undefined
  /** Undefined where the record does not tell. */
  readonly clusters: number | undefined
  readonly servers: number
  /** Processes; none for a lab that is attached. */
  readonly running: number
  /** Advice for people; empty when nothing is to be known or done. */
  readonly note: string
}

export const listLabStates = (host: LabHost): LabListing[] => listLabs().map((name) => describe(name, host))

const describe = (name: string, host: LabHost): LabListing => {
  const record = read(name)
  if (record !== undefined && record !== 'damaged' && isAttached(record)) return describeAttached(record)
  const lab = record === 'damaged' ? undefined : record
  const files =
    (lab && serversOfLab(lab).map(({ configFile }) => configFile)) ?? findConfigFiles(name).filter(isOfServer)
  const running = lab?.isInProcess
    ? serversOfLab(lab).filter((server) => findServer(lab, server, host)).length
    : host.servers.findAll(files).length
  const holder = findHolder(name, host.table)
  const keeper = lab && host.servers.find(lab.keeper.configFile, lab.keeper.process ?? undefined)
  const owner = holder?.pid ?? keeper?.pid
  const base = {
    name,
    topology: lab?.topology,
    owner,
    createdAt: lab?.createdAt,
    clusters: lab?.clusters.length,
    servers: files.length,
    running,
  }
  if (holder) return { ...base, state: 'busy', note: `is being ${holder.doing} by process ${holder.pid}` }
  if (record === 'damaged') return { ...base, state: 'damaged', note: `"understudy down ${name}" removes it` }
  if (!lab || lab.state === 'starting') {
    return { ...base, state: 'incomplete', note: `its start was killed; "understudy down ${name}" removes it` }
  }
  if (lab.state === 'failed') return { ...base, state: 'failed', note: `logs in ${lab.directory}` }
  if (running === 0) return { ...base, state: 'stopped', note: `"understudy start --name ${name}" goes on` }
  return { ...base, state: running < files.length ? 'partly running' : 'running', note: '' }
}

/** Ports of servers that run, by the name of their lab. */
export const findLabPorts = ({ servers }: LabHost): ReadonlyMap<number, string> => {
  const clusters = listLabs().flatMap((name) => {
    const lab = read(name)
    return lab === undefined || lab === 'damaged' || isAttached(lab)
      ? []
      : serversOfLab(lab).map((one) => ({ ...one, lab: name }))
  })
  const running = clusters.filter(({ configFile, process }) => servers.find(configFile, process ?? undefined))
  return new Map(running.flatMap(({ ports, lab }) => [ports.api, ports.cluster].map((port) => [port, lab] as const)))
}

/** Whether its servers run is not for this machine to know: `status` asks them. */
const describeAttached = ({ name, topology, createdAt, clusters }: AttachedLab): LabListing => ({
  name,
  topology,
  state: 'attached',
  owner: undefined,
  createdAt,
  clusters: clusters.length,
  servers: clusters.length,
  running: 0,
  note: `run by somebody else; "understudy status --name ${name}" asks them`,
})

/** The lab daemon is no cluster. */
const isOfServer = (file: string): boolean => path.basename(file).startsWith('server-')

const read = (name: string): AnyLab | undefined | 'damaged' => {
  try {
    return findLab(name)
  } catch {
    return 'damaged'
  }
}
