import type { Command } from 'commander'
import { systemClock } from '../../../base/clock.js'
import {
  type ActiveFault,
  describeFault,
  describeTarget,
  type FaultRequest,
  healEach,
  isShown,
} from '../../../lab/daemon/active-fault.js'
import { LabDaemonClient } from '../../../lab/daemon/lab-daemon-client.js'
import { isOneShot } from '../../../lab/daemon/server-fault.js'
import type { DaemonLab } from '../../../lab/model/cluster.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { requireDaemonLab } from '../../../lab/model/lab-directory.js'
import { chooseServersOfLab, serverNames } from '../../../lab/nodes/choose.js'
import { LINK_FAULTS, type LinkFault, type LinkFaultName, makeLinkFault } from '../../../lab/proxy/link-faults.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { chooseFaults } from './fault-places.js'
import { bytes, bytesPerSecond, milliseconds } from './quantities.js'
import {
  CLUSTER_OR_NODE,
  FAULT_JSON,
  FOR,
  KIND,
  type SetServerFault,
  serverFaultCommands,
  STATES,
} from './server-faults.js'

interface FaultFlags {
  readonly name: string
  readonly json?: true
  readonly oneWay?: true
  readonly for?: string
}

/** `understudy fault ...`: injects faults into the links and the servers of a lab. */
export const faultCommand = (output: Output): Command => {
  const command = new TypedCommand('fault').description('inject and list faults of links and servers')
  for (const name of Object.keys(LINK_FAULTS) as LinkFaultName[])
    command.addCommand(name === 'hold' ? holdCommand(output) : linkFaultCommand(name, output))
  for (const one of [...serverFaultCommands(setterOf(output)), releaseCommand(output)]) command.addCommand(one)
  command
    .command('ls')
    .alias('list')
    .description('list active faults, except one-shot faults')
    .lab()
    .json()
    .examples('fault ls', 'fault ls --name drill --json')
    .run(async ({ name, json }) => {
      const active = (await daemonOf(name).list()).filter(isShown)
      if (json) output.data(JSON.stringify(active, undefined, 2))
      else if (active.length === 0) output.progress('there are no active faults')
      else output.data(formatTable([['id', 'where', 'fault', 'remaining'], ...active.map(toRow)]))
    })
  return command.examples(
    'fault partition A B --for 30s --one-way',
    'fault latency A C 80ms --jitter 20ms',
    'fault disk A full',
    'fault corrupt B',
  )
}

const linkFaultCommand = (name: LinkFaultName, output: Output): Command => {
  const { about, example, fields } = LINK_FAULTS[name]
  const [first, ...others] = fields
  const command = new TypedCommand(name)
    .description(about)
    .argument('<cluster>', CLUSTER_OR_NODE)
    .argument('<other>', 'the other end of the link')
  if (first) command.argument(`<${first.unit === 'bytes/s' ? 'rate' : first.key}>`, first.about)
  const typed = `fault ${name} A B${example ? ` ${example}` : ''}`
  for (const { key, unit, about: what } of others)
    command.flag(`--${key} <${unit === 'ms' ? 'duration' : 'bytes'}>`, what)
  return addLinkFlags(command)
    .examples(typed, `${typed} --one-way --for 30s`)
    .run(async (flags, one: string, other: string, value?: string) => {
      const values = flags as Readonly<Record<string, unknown>>
      const fault = makeLinkFault(name, ({ key, unit, isZeroAllowed }) => {
        const text = key === first?.key ? value : values[key]
        if (typeof text !== 'string') return undefined
        if (unit === 'ms') return milliseconds(text, isZeroAllowed ? 0 : 1)
        return unit === 'bytes' ? bytes(text) : bytesPerSecond(text)
      })
      await setOnLink([one, other], fault, flags, output)
    })
}

/** Adds the flags that the commands of all link faults have. */
const addLinkFlags = <Flags>(command: TypedCommand<Flags>) =>
  command
    .lab()
    .flag('--one-way', 'affect only the traffic from the first cluster to the second (default: both ways)')
    .flag(...FOR)
    .json(FAULT_JSON)

/** `understudy fault hold`: holds the traffic of a link, or the replication of a cluster when it enters a state. */
const holdCommand = (output: Output): Command =>
  addLinkFlags(
    new TypedCommand('hold')
      .description('hold the traffic of a link or the replication of a cluster')
      .argument('<cluster>', CLUSTER_OR_NODE)
      .argument('[other]', 'the other end of the link')
      .choice('--state <state>', 'hold the replication of the cluster in this state', STATES)
      .choice(...KIND),
  )
    .examples('fault hold A C', 'fault hold C --state merkle-sync')
    .run(async (flags, cluster: string, other: string | undefined) => {
      const { state, kind } = flags
      if ((other === undefined) === (state === undefined))
        throw new LabError('usage', 'specify the two clusters of a link, or one cluster with --state')
      if (state !== undefined) {
        if (flags.oneWay) throw new LabError('usage', '--one-way requires a link')
        await setterOf(output)(cluster, { name: 'hold-state', state, kind }, flags)
      } else {
        if (kind) throw new LabError('usage', '--kind requires --state')
        await setOnLink([cluster, String(other)], { name: 'hold' }, flags, output)
      }
    })

const setOnLink = async (
  between: readonly [string, string],
  fault: LinkFault,
  flags: FaultFlags,
  output: Output,
): Promise<void> => {
  const set = await setAndPrint({ between, isOneWay: flags.oneWay === true, fault }, flags, output)
  if (flags.json) output.data(JSON.stringify(set, undefined, 2))
}

/** Returns a function that sets a fault on all nodes of a cluster; a one-shot fault on the first that accepts it. */
const setterOf =
  (output: Output): SetServerFault =>
  async (place, fault, flags) => {
    const lab = requireDaemonLab(flags.name)
    const names = place === undefined ? allServers(lab) : serverNames(lab, place)
    const set: ActiveFault[] = []
    const isDone = () => isOneShot(fault) && set.length > 0
    const refusals: unknown[] = []
    for (const cluster of names) {
      if (isDone()) break
      await setAndPrint({ cluster, fault }, flags, output).then(
        (one) => set.push(one),
        (error: unknown) => refusals.push(error),
      )
    }
    if (flags.json && set.length > 0)
      output.data(JSON.stringify(names.length === 1 || isOneShot(fault) ? set[0] : set, undefined, 2))
    if (refusals.length > 0 && !isDone())
      throw refusals.find((error) => error instanceof LabError && error.code === 'usage') ?? refusals[0]
  }

const setAndPrint = async (
  request: FaultRequest,
  flags: { readonly name: string; readonly for?: string },
  output: Output,
): Promise<ActiveFault> => {
  const forMs = flags.for === undefined ? undefined : milliseconds(flags.for)
  const set = await daemonOf(flags.name).set({ ...request, forMs })
  output.progress(`fault ${set.id}: ${describeActive(set)}${flags.for ? ` for ${flags.for}` : ''}`)
  return set
}

/** `understudy heal`: removes one fault, the faults of a link or of a server, or all faults. */
export const healCommand = (output: Output): Command =>
  new TypedCommand('heal')
    .description('remove faults from links and servers')
    .argument('[what...]', 'fault ID, one cluster or node, or the two ends of a link')
    .lab()
    .flag('--all', 'remove all faults')
    .json(REMOVED_JSON)
    .examples('heal 3', 'heal A B', 'heal A2', 'heal --all')
    .run(async (flags, what: string[]) => {
      const daemon = daemonOf(flags.name)
      const lab = requireDaemonLab(flags.name)
      chooseServersOfLab(
        lab,
        what.filter((one) => !/^\d+$/.test(one)),
      )
      const heal = (id: number) => daemon.heal(id)
      const isAll = flags.all === true && what.length === 0
      const healed = isAll ? await daemon.heal() : await healEach(heal, chooseFaults(await daemon.list(), what, lab))
      printHealed(
        healed,
        what.length === 0 ? 'there are no active faults' : `there is no fault ${describePlace(what)}`,
        flags,
        output,
      )
    })

const describePlace = ([one, other]: readonly string[]): string =>
  other === undefined ? `on ${one}` : `between ${one} and ${other}`

const REMOVED_JSON = 'print JSON: the removed faults'

/** `understudy release`, and `understudy fault release`: resumes a held link, or the held replication of a cluster. */
export const releaseCommand = (output: Output): Command =>
  new TypedCommand('release')
    .description('release the held traffic of a link or a held replication')
    .argument('<cluster>', CLUSTER_OR_NODE)
    .argument('[other]', 'the other end of the link')
    .lab()
    .choice('--state <state>', 'release only a hold of this state (default: all)', STATES)
    .json(REMOVED_JSON)
    .examples('release C', 'release C --state merkle-sync', 'release A C')
    .run(async (flags, cluster: string, other: string | undefined) => {
      const { name, state } = flags
      if (other !== undefined && state !== undefined) throw new LabError('usage', '--state requires a single cluster')
      const what = other === undefined ? [cluster] : [cluster, other]
      const lab = requireDaemonLab(name)
      chooseServersOfLab(lab, what)
      const daemon = daemonOf(name)
      const chosen = chooseFaults(await daemon.list(), what, lab).filter(({ fault }) =>
        other === undefined
          ? fault.name === 'hold-state' && (state === undefined || fault.state === state)
          : fault.name === 'hold',
      )
      const healed = await healEach((id) => daemon.heal(id), chosen)
      printHealed(healed, `there is no hold fault ${describePlace(what)}`, flags, output)
    })

/** Maximum number of removed faults that a message describes. */
const DESCRIBED_MAX = 10

const printHealed = (
  healed: readonly ActiveFault[],
  textIfNone: string,
  { json }: Pick<FaultFlags, 'json'>,
  output: Output,
): void => {
  if (json) output.data(JSON.stringify(healed, undefined, 2))
  const shown = healed.slice(0, DESCRIBED_MAX).map(describeActive).join('; ')
  const more = healed.length > DESCRIBED_MAX ? ` and ${healed.length - DESCRIBED_MAX} more` : ''
  output.progress(healed.length === 0 ? textIfNone : `healed ${shown}${more}`)
}

const allServers = (lab: DaemonLab): string[] => chooseServersOfLab(lab, []).map(({ server }) => server.name)

const daemonOf = (lab: string): LabDaemonClient => new LabDaemonClient(requireDaemonLab(lab).keeper.socket, lab)

const describeActive = (active: ActiveFault): string => `${describeTarget(active)}, ${describeFault(active)}`

const toRow = (active: ActiveFault): string[] => [
  String(active.id),
  describeTarget(active),
  describeFault(active),
  active.untilMs === undefined ? '-' : `${Math.max(0, Math.ceil((active.untilMs - systemClock.now()) / 1000))}s`,
]
