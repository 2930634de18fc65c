import type { LabRecord, ServerRecord } from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { type Ending, launchServer } from './child-process.js'
import type { LabHost } from './lab-host.js'
import type { ProcessFacts, ProcessIdentity } from '../model/process-table.js'

/**
 * Returns the process of a cluster's server, or undefined if it is not running. In an in-process lab, that is the lab daemon, if
 * the record shows that it started the server.
 */
export const findServer = (
  { isInProcess, keeper }: Pick<LabRecord, 'isInProcess' | 'keeper'>,
  { configFile, process }: Pick<ServerRecord, 'configFile' | 'process'>,
  { servers }: Pick<LabHost, 'servers'>,
): ProcessFacts | undefined => {
  if (!isInProcess) return servers.find(configFile, process ?? undefined)
  const found = process ? servers.find(keeper.configFile, process) : undefined
  return found?.pid === process?.pid && found?.startTime === process?.startTime ? found : undefined
}

export interface LaunchedServer {
  readonly process: ProcessIdentity | null
  /** Resolves when the process exits by itself. */
  readonly ended: Promise<Ending>
}

/** Starts the server of a cluster: as a separate process, or in the running daemon of an in-process lab. */
export const launchCluster = async (
  { isInProcess, keeper }: Pick<LabRecord, 'isInProcess' | 'keeper'>,
  server: ServerRecord,
  { servers }: Pick<LabHost, 'servers'>,
  { timeoutMs, isTied }: { readonly timeoutMs: number; readonly isTied?: boolean | undefined },
): Promise<LaunchedServer> => {
  if (!isInProcess) {
    const { pid, ended } = launchServer(server.name, server, isTied)
    return { process: servers.identify(pid) ?? null, ended }
  }
  await new LabDaemonClient(keeper.socket).work(server.name, 'start', timeoutMs)
  return { process: keeper.process, ended: new Promise<never>(() => undefined) }
}
