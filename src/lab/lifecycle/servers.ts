import { rm } from 'node:fs/promises'
import { parseJsonObject } from '../../base/json.js'
import { textOfJson } from '../../base/json-print.js'
import type { ApiClient } from '../../client/api-client.js'
import {
  type ClusterAccess,
  type ClusterKeys,
  type ClusterRecord,
  describeServer,
  isAttached,
  type LabRecord,
  type ServerRecord,
  withAnonymousClient,
  withClusterKeys,
  withProcess,
} from '../model/cluster.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { takesDown } from '../daemon/last-position.js'
import { LabError } from '../model/lab-error.js'
import { NO_PROCESS, type ProcessFacts } from '../model/process-table.js'
import { askInfo, type LastPosition } from '../requests/expected-loss.js'
import { askStatus, waitForAnswer } from '../requests/replication.js'
import { lastLogLines } from '../processes/child-process.js'
import { unsealWithAny } from '../keys/seals.js'
import type { ServerVerb, VerbOptions } from '../model/server-verbs.js'
import { chooseServers, findRecords } from '../nodes/choose.js'
import { claimLab } from '../processes/claim.js'
import { stopAll } from './down.js'
import { commandIn, requireAnyLab, requireLab, saveLab } from '../model/lab-directory.js'
import { findServer, launchCluster, type LaunchedServer, startLabDaemon } from '../processes/launch.js'
import type { LabHost } from '../processes/lab-host.js'
import { openNode } from '../nodes/nodes.js'
import { openCluster } from '../wiring/wire.js'
import { isSkipped, NOT_RUNNING, type ServerControls, workOn, workOnAttached } from './server-controls.js'

/**
 * Runs `verb` on the named clusters or nodes of a lab, and reports each result. Without names, runs it on all servers.
 * Succeeds for a server that is already in this state. `start` unseals a server with the keys of its cluster, or of the
 * clusters from which it has replicated.
 */
export const workOnServers = async (
  name: string,
  verb: ServerVerb,
  names: readonly string[],
  options: VerbOptions,
  host: LabHost,
): Promise<void> => {
  using _claim = claimLab(name, 'changed', host)
  const known = requireAnyLab(name)
  if (isAttached(known)) return await workOnAttached(known, verb, names, options, host)
  const chosen = chooseServers(known, names)
  if (verb === 'wipe' && !known.isInProcess) await requireWipeable(known, chosen, options, host)
  if (verb === 'start' || verb === 'restart') await ensureLabDaemon(requireLab(name), options, host)
  const context = { name, options, host, launched: new Map<string, LaunchedServer>() }
  if (verb === 'start') await launchPeers(chosen, context)
  for (const server of chosen) {
    const { lab, cluster } = readRecords(context, server.name)
    const controls = controlsOf(context, server.name)
    if (await isSkipped(controls, verb, names, options)) continue
    const place = { ...cluster, apiAddress: server.apiAddress }
    const before = takesDown(verb) ? await positionBefore(place) : undefined
    options.onProgress(await workOn(controls, verb))
    const command = commandIn(name, `${verb} ${server.name}`)
    // In a multi-node cluster, another node may become active and append further entries.
    const isFinal = verb === 'stop' && !cluster.nodes
    const position = before && isFinal ? positionAfterStop(before, server.logFile) : before
    const details = { verb, ...(position && { position }) }
    const event = { cluster: cluster.name, kind: 'command', details, command } as const
    await new LabDaemonClient(lab.keeper.socket).emit(event)
  }
}

const POSITION_MS = 1000

/** Returns the position of a DR primary before a command takes it down. Undefined if it is none or does not respond. */
const positionBefore = async (cluster: ClusterAccess): Promise<LastPosition | undefined> => {
  const ask = async (client: ApiClient) => {
    const { mode, clusterId, lastKindWal } = await askStatus(client, 'dr')
    if (mode !== 'primary') return undefined
    return { set: clusterId, epoch: textOfJson((await askInfo(client)).epoch), lastWal: lastKindWal, isFinal: false }
  }
  return withAnonymousClient(cluster, ask, POSITION_MS).catch(() => undefined)
}

/** Returns the position after an orderly stop, from the last line of the log. Without this line, returns `before`. */
const positionAfterStop = (before: LastPosition, logFile: string): LastPosition => {
  const last = parseJsonObject(Buffer.from(lastLogLines(logFile).split('\n').at(-1) ?? ''))
  return last?.message === 'storage closed' ? { ...before, lastWal: Number(last.last_dr_wal), isFinal: true } : before
}

/** Rejects with LabError `conflict` if a server is running, before any data is removed. Then calls `onErase`. */
const requireWipeable = async (
  lab: LabRecord,
  servers: readonly ServerRecord[],
  { onErase }: VerbOptions,
  host: LabHost,
): Promise<void> => {
  const running = servers.find((server) => findServer(lab, server, host))
  if (running) {
    const command = commandIn(lab.name, `stop ${running.name}`)
    throw new LabError('conflict', `${describeServer(running.name)} is running; "${command}" stops it`)
  }
  await onErase?.(`the data of ${servers.map(({ name }) => describeServer(name)).join(', ')} is erased`)
}

/** Restarts a killed lab daemon on the same ports, because all links are down without a lab daemon. */
const ensureLabDaemon = async (lab: LabRecord, options: VerbOptions, host: LabHost): Promise<void> => {
  const { keeper, launched } = await startLabDaemon(lab, host, options)
  if (!launched) return
  saveLab({ ...lab, keeper })
  options.onProgress('the lab daemon is running again')
}

interface Context {
  /** The name of the lab. */
  readonly name: string
  readonly options: VerbOptions
  readonly host: LabHost
  /** Servers that were started together, and are not unsealed yet. */
  readonly launched: Map<string, LaunchedServer>
}

interface Records {
  readonly lab: LabRecord
  readonly cluster: ClusterRecord
  /** The single server of the cluster, or one of its nodes. */
  readonly server: ServerRecord
}

const readRecords = ({ name }: Context, server: string): Records => {
  const lab = requireLab(name)
  return { lab, ...findRecords(lab, server) }
}

/** Starts all nodes before it waits for the first, because nodes with storage "raft" respond only with a quorum. */
const launchPeers = async (servers: readonly ServerRecord[], context: Context): Promise<void> => {
  for (const { name } of servers.filter(({ etcdPort }) => etcdPort !== undefined)) {
    const records = readRecords(context, name)
    if (!findServer(records.lab, records.server, context.host)) await launch(records, context)
  }
}

const launch = async ({ lab, server }: Records, { options, host, launched }: Context): Promise<LaunchedServer> => {
  const made = await launchCluster(lab, server, host, options)
  saveLab(withProcess(lab, server.name, made.process))
  launched.set(server.name, made)
  return made
}

const controlsOf = (context: Context, name: string): ServerControls => {
  const { options, host } = context
  const { lab, cluster, server } = readRecords(context, name)
  const find = () => findServer(lab, server, host)
  const shared = {
    lab,
    place: { ...cluster, name, apiAddress: server.apiAddress },
    findDown: async () => (find() ? undefined : NOT_RUNNING),
    // Reads the record again, because a restart has changed the record of the stopped server.
    start: () => start(readRecords(context, name), context),
  }
  /** Stops or crashes one server in the process of the lab daemon. The other servers continue. */
  const endHosted = async (verb: 'stop' | 'crash') => {
    if (!find()) return
    await new LabDaemonClient(lab.keeper.socket).work(name, verb, options.timeoutMs)
    saveLab(withProcess(lab, name, verb === 'crash' ? NO_PROCESS : null))
  }
  if (lab.isInProcess) return { ...shared, stop: () => endHosted('stop'), kill: () => endHosted('crash') }
  const signal = (which: NodeJS.Signals): readonly ProcessFacts[] => {
    const running = find()
    if (!running) return []
    host.servers.signal(running, which)
    return [running]
  }
  return {
    ...shared,
    stop: async () => {
      const running = find()
      // Recorded before the process exits, because an exit without this record is a crash.
      saveLab(withProcess(lab, name, null))
      if (running) await stopAll([running], {}, host)
    },
    kill: () => stopAll(signal('SIGKILL'), {}, host),
    freeze: async (isFrozen) => void signal(isFrozen ? 'SIGSTOP' : 'SIGCONT'),
    wipe: () => rm(server.dataDir, { recursive: true, force: true }),
  }
}

const start = (records: Records, context: Context): Promise<string> => {
  const { lab, cluster, server } = records
  const running = context.launched.has(server.name) ? undefined : findServer(lab, server, context.host)
  return withAnonymousClient({ ...cluster, apiAddress: server.apiAddress }, async (client) => {
    if (!running) return open(records, client, context)
    // A suspended server does not respond, and nodes with storage "raft" unseal only with a quorum.
    const isOpen = running.isFrozen || server.etcdPort !== undefined || !(await isLeftSealed(records, client, context))
    return isOpen ? `${describeServer(server.name)} is running` : openStarted(records, client, context)
  })
}

/** Whether a running server was left sealed, for example by an interrupted start. */
const isLeftSealed = async ({ server }: Records, client: ApiClient, { options, host }: Context): Promise<boolean> => {
  await waitForAnswer(host.clock, client, server.name, options.timeoutMs)
  const { initialized, sealed, recovery_seal: isAuto } = await client.read('sys/seal-status')
  return sealed === true && !(isAuto === true && initialized === true)
}

const open = async (records: Records, client: ApiClient, context: Context): Promise<string> => {
  const { cluster, server } = records
  const { options, host, launched } = context
  const { ended } = launched.get(server.name) ?? (await launch(records, context))
  const failure = new AbortController()
  void ended.then((ending) => {
    const last = lastLogLines(server.logFile)
    failure.abort(new LabError('remote', `the server of ${describeServer(server.name)} exited (${ending})\n${last}`))
  })
  if (server.etcdPort === undefined) {
    await waitForAnswer(host.clock, client, server.name, options.timeoutMs, failure.signal)
    return openStarted(records, client, context)
  }
  const wait = { ...options, clock: host.clock, signal: failure.signal }
  await openNode({ lab: records.lab, cluster, node: server }, wait)
  return `${describeServer(server.name)} is ready at ${server.apiAddress}`
}

/** Unseals a server that has just started and responds. Initializes a single server without data, as after `wipe`. */
const openStarted = async (
  { lab, cluster, server }: Records,
  client: ApiClient,
  { options, host }: Context,
): Promise<string> => {
  const { initialized } = await client.read('sys/seal-status')
  if (initialized !== false || cluster.nodes) {
    await unsealWithAny(client, lab, cluster)
    return `${describeServer(server.name)} is ready at ${server.apiAddress}`
  }
  const seal = {
    type: cluster.sealKeyFile === undefined ? 'shamir' : 'auto',
    shares: Math.max(cluster.unsealKeys.length, 1),
    threshold: Math.max(cluster.threshold, 1),
  } as const
  await openCluster<ClusterRecord>(cluster, {
    ...seal,
    plans: { [cluster.name]: { seal } },
    clock: host.clock,
    timeoutMs: options.timeoutMs,
    onKeys: ({ rootToken, unsealKeys, threshold }: ClusterKeys) =>
      saveLab(withClusterKeys(requireLab(lab.name), cluster.name, { rootToken, unsealKeys, threshold })),
  })
  return `${describeServer(server.name)} had no data and was initialized as a new cluster at ${server.apiAddress}`
}
