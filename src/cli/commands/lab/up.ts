import { alternatives } from '../../../base/counted.js'
import type { Command } from 'commander'
import type { LabRecord } from '../../../lab/model/cluster.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { downLab } from '../../../lab/lifecycle/down.js'
import { labDirectory } from '../../../lab/model/lab-directory.js'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { abandonLab, upLab } from '../../../lab/lifecycle/up.js'
import { proveReplication } from '../../../lab/wiring/proof.js'
import { upSnapshot } from '../../../lab/lifecycle/up-snapshot.js'
import {
  type ClusterPlan,
  NODE_COUNTS,
  NODE_STORAGES,
  type NodeCount,
  planOf,
  serversOf,
  type Topology,
  withNodes,
} from '../../../lab/model/topology.js'
import { listTopologies, readTopologyFile, requireTopology, TOPOLOGY_NAMES } from '../../../lab/topology/catalogue.js'
import { type FlagsOf, TypedCommand } from '../../terminal/command.js'
import { type Interruption, withInterrupt } from '../../terminal/interrupt.js'
import { formatTable, type Output, textWidth } from '../../terminal/output.js'
import { describeLab } from './describe-lab.js'
import { parseShamir, parseTimeout, portChoice } from './options.js'

type UpFlags = FlagsOf<ReturnType<typeof upFlags>>

const upFlags = () =>
  new TypedCommand('up')
    .description('start a lab and set up its replication')
    .argument('[topology]', `${TOPOLOGY_NAMES.join(', ')} (default: list the topologies)`)
    .flag('-f, --file <file>', 'your own topology file (YAML)')
    .lab()
    .timeout()
    .choice('--ports <choice>', 'fixed: 8200, 8210, ...; random: free ports (default: fixed)', ['fixed', 'random'])
    .flag('--port-base <port>', 'first API port, also for clusters whose ports the topology sets (default: 8200)')
    .flag('--shamir <shares/threshold>', 'key shares and threshold of each cluster, such as 5/3 (default: 1/1)')
    .choice('--seal <type>', 'seal type; with auto, each cluster unseals itself (default: shamir)', ['shamir', 'auto'])
    .flag(
      '--nodes <count>',
      'servers in each cluster: 1, 3 or 5; more than 1 requires etcd or --in-process (default: the topology, or 1)',
    )
    .choice(
      '--storage <type>',
      'storage of clusters with several nodes: etcd (shared; default) or raft (every node stores the data)',
      NODE_STORAGES,
    )
    .flag('--tls', 'serve the APIs over TLS, with certificates of a lab CA')
    .flag('--root-token <token>', 'root token of every cluster except DR secondaries (default: generated)')
    .flag('--in-process', 'run all clusters in one process: starts faster, uses less memory; no "pause"')
    .flag('--seed <seed>', 'make keys, tokens and faults reproducible; requires --in-process')
    .flag('--foreground', 'run until interrupted, then remove the lab')
    .choice(
      '--bind <address>',
      'listen address of the APIs; with 0.0.0.0, other hosts can use the APIs, but cannot inject faults',
      ['127.0.0.1', '0.0.0.0'],
      '127.0.0.1',
    )
    .flag('--data-dir <directory>', 'store the data in a new subdirectory of this directory (default: lab directory)')
    .choice('--log-level <level>', 'log level of the servers (default: info)', [
      'trace',
      'debug',
      'info',
      'warn',
      'error',
    ])
    .flag('--snapshot <name>', 'start from a snapshot: its name or its file')
    .flag('--prove', 'write a secret and verify that it is replicated')
    .json('print the lab as JSON')
    .examples(
      'up pr-dr --prove',
      'up dr --name drill --ports random --shamir 5/3',
      'up six --in-process',
      'up dr --in-process --seed 7',
      'up single --nodes 3',
      'up single --nodes 3 --storage raft',
      'up -f topology.yaml --ports random --tls --seal auto',
    )

/** `understudy up`: starts a topology of real server processes. Replication is set up when the command returns. */
export const upCommand = (output: Output): Command =>
  upFlags().run(async (flags, name: string | undefined) => {
    if (flags.snapshot !== undefined) return upFromSnapshot(flags.snapshot, name, flags, output)
    if (name === undefined && flags.file === undefined) {
      const rows = listTopologies().map(({ name, about }) => [name, about])
      output.data(formatTable(rows, textWidth()))
      return
    }
    const topology = chosenTopology(name, flags)
    // Rejects an invalid name before any other check.
    labDirectory(flags.name)
    const rootToken = flags.rootToken === undefined ? undefined : requireToken(flags.rootToken)
    // The process list shows the command line with the token, so the title replaces it.
    if (rootToken !== undefined) process.title = 'understudy up'
    const timeoutMs = parseTimeout(flags.timeout)
    const seed = parseSeed(flags)
    const host = thisHost()
    const { clock } = host
    const choosePorts = portChoice(topology, flags)
    const started = clock.monotonic()
    await withInterrupt(async (interruption) => {
      const lab = await upLab(
        {
          name: flags.name,
          topology,
          choosePorts,
          shares: 1,
          threshold: 1,
          timeoutMs,
          settings: {},
          clock,
          rootToken,
          isForeground: flags.foreground,
          isInProcess: flags.inProcess,
          seed,
          apiHost: flags.bind,
          dataDir: flags.dataDir,
          logLevel: flags.logLevel,
          ...interruption,
        },
        host,
      )
      const word = topology.links.length > 0 ? 'replicated' : 'ready'
      output.progress(`${word} after ${((clock.monotonic() - started) / 1000).toFixed(1)} s`)
      await present(lab, flags, interruption, output, host)
    })
  })

/** Returns the seed. Throws LabError `usage` if it would have no effect. */
const parseSeed = ({ seed, inProcess }: UpFlags): string | undefined => {
  if (seed === '') throw new LabError('usage', '--seed must not be empty')
  if (seed === undefined || inProcess) return seed
  throw new LabError('usage', '--seed requires --in-process: it has no effect on servers in separate processes')
}

/** Flags that `--snapshot` excludes, for the error message. */
const DEFINED_BY_SNAPSHOT = '--file, --shamir, --seal, --tls, --nodes, --storage, --root-token and --seed'

const upFromSnapshot = async (snapshot: string, topology: string | undefined, flags: UpFlags, output: Output) => {
  const host = thisHost()
  const { file, shamir, seal, tls, nodes, storage, rootToken, seed } = flags
  if ([topology, file, shamir, seal, tls, nodes, storage, rootToken, seed].some((given) => given !== undefined))
    throw new LabError('usage', `--snapshot defines the clusters: remove the topology and ${DEFINED_BY_SNAPSHOT}`)
  const isChosen = flags.ports !== undefined || flags.portBase !== undefined
  const options = {
    ...flags,
    isForeground: flags.foreground,
    isInProcess: flags.inProcess,
    timeoutMs: parseTimeout(flags.timeout),
    portChoice: isChosen
      ? (wanted: Topology, former: ReadonlySet<number>) => portChoice(wanted, flags, former)
      : undefined,
  }
  await withInterrupt(async (interruption) => {
    const lab = await upSnapshot(snapshot, { ...options, ...interruption }, host)
    await present(lab, flags, interruption, output, host)
  })
}

/** Verifies and shows the started lab, and with `--foreground` waits. A failed verification is a failed start. */
const present = async (
  lab: LabRecord,
  flags: UpFlags,
  interruption: Interruption,
  output: Output,
  host: LabHost,
): Promise<void> => {
  const { signal, forceSignal } = interruption
  const options = { clock: host.clock, timeoutMs: parseTimeout(flags.timeout), signal }
  const prove = () =>
    proveReplication(lab, options).catch(async (error: unknown) => {
      throw await abandonLab(lab, error, { forceSignal }, host)
    })
  const sentences = flags.prove ? await prove() : []
  output.data(flags.json ? JSON.stringify({ ...lab, proof: sentences }, undefined, 2) : describeLab(lab, sentences))
  if (flags.foreground) await stay(lab.name, interruption, output, host)
}

/** Returns the token if servers accept it. Throws LabError `usage` otherwise, before anything is started. */
const requireToken = (token: string): string => {
  if (/^[A-Za-z0-9_-]{1,256}$/.test(token)) return token
  throw new LabError('usage', `"${token}" is not a valid token: use at most 256 letters, digits, "_" and "-"`)
}

/** Duration of one timer while the command waits for a signal. */
const STAY_MS = 3_600_000

/** Waits until a signal arrives, then removes the lab. Rejects with the reason of the signal. */
const stay = async (
  name: string,
  { signal, forceSignal }: Interruption,
  output: Output,
  host: LabHost,
): Promise<void> => {
  output.progress(`the lab "${name}" is running; Ctrl-C stops it and removes it`)
  // A timer keeps the process alive; signal handlers do not.
  while (!signal.aborted) await host.clock.sleep(STAY_MS, signal).catch(() => undefined)
  await downLab(name, { keep: false, forceSignal }, host)
  output.progress(`the lab "${name}" was removed`)
  throw signal.reason
}

/** Returns the topology of that name or file, changed by the flags. Throws `LabError` `usage` if it is invalid. */
const chosenTopology = (name: string | undefined, flags: UpFlags): Topology => {
  const { file } = flags
  if (name !== undefined && file !== undefined) throw new LabError('usage', 'specify a topology or --file, not both')
  return withFlags(file === undefined ? requireTopology(name ?? '') : readTopologyFile(file), flags)
}

/**
 * Applies flags to all clusters. They take precedence over the topology's settings. Throws LabError `usage` for a flag
 * that the topology does not support.
 */
const withFlags = (given: Topology, { shamir, seal, tls, nodes, storage }: UpFlags): Topology => {
  const topology = nodes === undefined ? given : withNodes(given, parseNodes(nodes))
  if (storage && topology.clusters.every((name) => serversOf(topology, name).length === 1))
    throw new LabError('usage', '--storage requires clusters with several nodes: add --nodes')
  const shares = shamir === undefined ? undefined : parseShamir(shamir)
  const change = (plan: ClusterPlan): ClusterPlan => {
    const { type = 'shamir', ...rest } = plan.seal ?? { shares: 1, threshold: 1 }
    return {
      ...plan,
      ...(tls ? { tls } : {}),
      ...(storage ? { storage } : {}),
      seal: { ...rest, ...shares, type: seal ?? type },
    }
  }
  return {
    ...topology,
    plans: Object.fromEntries(topology.clusters.map((name) => [name, change(planOf(topology, name))])),
  }
}

const parseNodes = (text: string): NodeCount => {
  const count = NODE_COUNTS.find((one) => String(one) === text)
  if (count !== undefined) return count
  throw new LabError('usage', `--nodes must be ${alternatives(NODE_COUNTS)}, not "${text}"`)
}
