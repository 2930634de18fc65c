import { Argument, type Command } from 'commander'
import type { ServerFault } from '../../../lab/daemon/server-fault.js'
import { KINDS } from '../../../lab/model/kinds.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { TypedCommand } from '../../terminal/command.js'
import { milliseconds, skew } from './quantities.js'

/**
 * Sets a fault on the servers of a cluster or on one node, and prints it. If `place` is undefined, sets the fault on
 * the first server of the lab that accepts it.
 */
export type SetServerFault = (
  place: string | undefined,
  fault: ServerFault,
  flags: { readonly name: string; readonly for?: string; readonly json?: true },
) => Promise<void>

/** The states of replication at which a server can be held. */
export const STATES = ['bootstrapping', 'merkle-diff', 'merkle-sync', 'reindex', 'apply'] as const

/** The flag for one kind of replication. */
export const KIND = ['--kind <kind>', 'replication kind (default: both)', KINDS] as const

/** Help text of `--json` for a command that sets a fault. */
export const FAULT_JSON = 'print the fault with its ID as JSON'

/** Help text of an argument. */
export const CLUSTER_OR_NODE = 'cluster (all nodes), or a node such as A2'

/** The flag for the duration of a fault. */
export const FOR = ['--for <duration>', 'remove the fault after this time, such as 30s (default: never)'] as const

/** The highest number of a page of a Merkle tree. */
const PAGE_MAX = 255
const DISK_STATES = ['full', 'fail', 'slow'] as const
/** Additional time of each write on a slow disk, by default. */
const SLOW = '200ms'

/** Returns the commands of server faults, except `hold`, which also applies to links. */
export const serverFaultCommands = (set: SetServerFault): Command[] => [
  new TypedCommand('skew')
    .description('shift the clock of a server')
    .argument('<cluster>', CLUSTER_OR_NODE)
    .argument('<skew>', 'time to add to the clock, such as +5m or -30s')
    // Otherwise, commander would reject a negative time such as -30s as an unknown flag.
    .allowUnknownOption()
    .flag(...FOR)
    .lab()
    .json(FAULT_JSON)
    .examples('fault skew B +5m', 'fault skew B -30s --for 1m')
    .run((flags, cluster: string, text: string) => set(cluster, { name: 'skew', ms: skew(text) }, flags)),
  new TypedCommand('disk')
    .description('simulate a disk fault of a server')
    .argument('<cluster>', CLUSTER_OR_NODE)
    .addArgument(new Argument('<state>', 'full: no space; fail: I/O error; slow: delay').choices(DISK_STATES))
    .flag('--delay <duration>', `additional time of each write; requires slow (default: ${SLOW})`)
    .flag(...FOR)
    .lab()
    .json(FAULT_JSON)
    .examples('fault disk A full --for 30s', 'fault disk A slow --delay 500ms')
    .run((flags, cluster: string, state: (typeof DISK_STATES)[number]) => {
      if (flags.delay !== undefined && state !== 'slow') throw new LabError('usage', '--delay requires slow')
      const delay = state === 'slow' ? { delayMs: milliseconds(flags.delay ?? SLOW) } : {}
      return set(cluster, { name: 'disk', state, ...delay }, flags)
    }),
  new TypedCommand('corrupt')
    .description('damage a page of a Merkle tree of a server')
    .argument('<cluster>', 'cluster (active node), or a node such as A2')
    .choice('--tree <tree>', 'tree to damage', ['replicated', 'local'], 'replicated')
    .flag('--page <number>', `number of the page, 0 to ${PAGE_MAX}`, '0')
    .lab()
    .json(FAULT_JSON)
    .examples('fault corrupt B', 'fault corrupt B --tree replicated --page 7')
    .run((flags, cluster: string) => {
      const page = /^\d{1,3}$/.test(flags.page) ? Number(flags.page) : PAGE_MAX + 1
      if (page > PAGE_MAX) throw new LabError('usage', `"${flags.page}" is not a page from 0 to ${PAGE_MAX}`)
      return set(cluster, { name: 'corrupt', tree: flags.tree, page }, flags)
    }),
  new TypedCommand('expire-token')
    .description('expire an unused activation token')
    .argument('<id>', 'ID of the secondary, as given to secondary-token')
    .flag('--cluster <cluster>', 'the primary that generated the token (default: found automatically)')
    .choice(...KIND)
    .lab()
    .json(FAULT_JSON)
    .examples('fault expire-token dr-b', 'fault expire-token perf-c --cluster A --kind performance')
    .run((flags, id: string) => set(flags.cluster, { name: 'expire-token', id, kind: flags.kind }, flags)),
]
