import { Argument, type Command } from 'commander'
import type { ServerFault } from '../../../lab/daemon/server-fault.js'
import { KINDS } from '../../../lab/model/kinds.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { TypedCommand } from '../../terminal/command.js'
import { milliseconds, skew } from './quantities.js'

/**
 * Sets and reports a fault on the servers of a cluster or on one node. Without a name, selects the first server that
 * accepts the fault.
 */
export type SetServerFault = (
  place: string | undefined,
  fault: ServerFault,
  flags: { readonly name: string; readonly for?: string; readonly json?: true },
) => Promise<void>

/** States in which the replication of a server can be held. */
export const STATES = ['bootstrapping', 'merkle-diff', 'merkle-sync', 'reindex', 'apply'] as const

/** The flag for one kind of replication. */
export const KIND = ['--kind <kind>', 'replication kind (default: both)', KINDS] as const

export const FAULT_JSON = 'print JSON: the fault with its ID'

const EACH = 'cluster (all nodes), or a node such as A2'
const PAGE_MAX = 255
const SLOW = '200ms'

/** Returns the server faults with their own commands. `hold` also applies to links. */
export const serverFaultCommands = (set: SetServerFault): Command[] => [
  new TypedCommand('skew')
    .description('shift the clock of a server')
    .argument('<cluster>', EACH)
    .argument('<skew>', 'time to add to the clock, such as +5m or -30s')
    // A time that begins with "-" is not a flag.
    .allowUnknownOption()
    .flag('--for <duration>', 'remove the fault after this time')
    .lab()
    .json(FAULT_JSON)
    .examples('fault skew B +5m', 'fault skew B -30s --for 1m')
    .run((flags, cluster: string, text: string) => set(cluster, { name: 'skew', ms: skew(text) }, flags)),
  new TypedCommand('disk')
    .description('simulate a disk fault of a server')
    .argument('<cluster>', EACH)
    .addArgument(new Argument('<how>').choices(['full', 'fail', 'slow']))
    .flag('--delay <duration>', `additional time of each write on a slow disk (default: ${SLOW})`)
    .flag('--for <duration>', 'remove the fault after this time')
    .lab()
    .json(FAULT_JSON)
    .examples('fault disk A full --for 30s', 'fault disk A slow --delay 500ms')
    .run((flags, cluster: string, state: 'full' | 'fail' | 'slow') => {
      if (flags.delay !== undefined && state !== 'slow') throw new LabError('usage', '--delay requires slow')
      const delay = state === 'slow' ? { delayMs: milliseconds(flags.delay ?? SLOW) } : {}
      return set(cluster, { name: 'disk', state, ...delay }, flags)
    }),
  new TypedCommand('corrupt')
    .description('damage a page of a Merkle tree of a server')
    .argument('<cluster>', 'cluster (active node), or a node such as A2')
    .choice('--tree <tree>', 'Merkle tree', ['replicated', 'local'], 'replicated')
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
