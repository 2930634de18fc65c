import { Command } from 'commander'
import { type Clock, systemClock } from '../../../base/clock.js'
import { parseDurationMs } from '../../../base/duration.js'
import {
  type ActiveFault,
  describeFault,
  describeLink,
  type LinkFault,
  type LinkFaultName,
} from '../../../lab/keeper/active-fault.js'
import { KeeperClient } from '../../../lab/keeper/keeper-client.js'
import { LabError } from '../../../lab/lab-error.js'
import { requireLab } from '../../../lab/lifecycle/lab-directory.js'
import { formatTable, type Output } from '../../output.js'
import { commandTerm, examples } from '../../help.js'
import { nameOption } from './options.js'

interface FaultFlags {
  readonly name: string
  readonly oneWay?: true
  readonly for?: string
  readonly jitter?: string
}

interface FaultKind {
  readonly about: string
  /** What stands behind the two clusters. */
  readonly argument?: string
  /** Such as this. */
  readonly example?: string
  readonly make: (value: string, flags: FaultFlags) => LinkFault
}

/** The faults of links, under toxiproxy's names where it has one. */
const KINDS: Readonly<Record<LinkFaultName, FaultKind>> = {
  partition: {
    about: 'cut the cable: nothing passes, not even the end of a connection',
    make: () => ({ name: 'partition' }),
  },
  hold: { about: 'let bytes wait until it is healed', make: () => ({ name: 'hold' }) },
  down: { about: 'refuse connections and reset those there are', make: () => ({ name: 'down' }) },
  latency: {
    about: 'delay everything, such as 80ms (--jitter 20ms)',
    argument: 'delay',
    example: '80ms',
    make: (value, { jitter }) => ({
      name: 'latency',
      ms: milliseconds(value),
      ...(jitter === undefined ? {} : { jitterMs: milliseconds(jitter) }),
    }),
  },
  bandwidth: {
    about: 'let so much pass, such as 256kB/s',
    argument: 'rate',
    example: '256kB/s',
    make: (value) => ({ name: 'bandwidth', bytesPerSecond: bytes(value.replace(/\/s$/, '')) }),
  },
  timeout: {
    about: 'let nothing pass and close connections after a time; 0 never closes',
    argument: 'time',
    example: '5s',
    make: (value) => ({ name: 'timeout', ms: milliseconds(value, 0) }),
  },
  reset_peer: {
    about: 'reset connections a time after their first bytes',
    argument: 'time',
    example: '1s',
    make: (value) => ({ name: 'reset_peer', ms: milliseconds(value, 0) }),
  },
  limit_data: {
    about: 'close connections after so many bytes, such as 64kB',
    argument: 'bytes',
    example: '64kB',
    make: (value) => ({ name: 'limit_data', bytes: bytes(value) }),
  },
}

/** `understudy fault ...`: what is wrong with the links of a lab. */
export const faultCommand = (output: Output, clock: Clock = systemClock): Command => {
  const command = new Command('fault')
    .description('set faults on the links between clusters, and list them')
    .configureHelp({ subcommandTerm: commandTerm })
    .exitOverride()
  for (const [name, kind] of Object.entries(KINDS)) command.addCommand(makeKind(name, kind, output).exitOverride())
  command.addCommand(
    new Command('ls')
      .description('list active faults')
      .addOption(nameOption())
      .option('--json', 'print JSON')
      .addHelpText('after', examples('fault ls', 'fault ls --name drill --json'))
      .action(async (flags: { name: string; json?: true }) => {
        const active = await keeperOf(flags.name).list()
        if (flags.json) output.data(JSON.stringify(active, undefined, 2))
        else if (active.length === 0) output.progress('there are no faults')
        else
          output.data(formatTable([['id', 'link', 'fault', 'left'], ...active.map((one) => toRow(one, clock.now()))]))
      })
      .exitOverride(),
  )
  return command.addHelpText(
    'after',
    examples('fault partition A B --for 30s --one-way', 'fault latency A C 80ms --jitter 20ms'),
  )
}

const makeKind = (name: string, { about, argument, example, make }: FaultKind, output: Output): Command => {
  const command = new Command(name).description(about).argument('<cluster>').argument('<other>')
  if (argument) command.argument(`<${argument}>`)
  const typed = [name, 'A', 'B', ...(example ? [example] : [])].join(' ')
  if (name === 'latency') command.option('--jitter <duration>', 'give or take so much')
  return command
    .addOption(nameOption())
    .option('--one-way', 'only what the first cluster sends to the other')
    .option('--for <duration>', 'heal it after so long')
    .addHelpText('after', examples(`fault ${typed}`, `fault ${typed} --one-way --for 30s`))
    .action(async (...all: unknown[]) => {
      const [one, other, value] = all as string[]
      const flags = all[argument ? 3 : 2] as FaultFlags
      const set = await keeperOf(flags.name).set({
        between: [String(one), String(other)],
        isOneWay: flags.oneWay === true,
        fault: make(String(value), flags),
        forMs: flags.for === undefined ? undefined : milliseconds(flags.for),
      })
      output.progress(
        `fault ${set.id}: ${describeLink(set)}, ${describeFault(set.fault)}${flags.for ? ` for ${flags.for}` : ''}`,
      )
    })
}

/** `understudy heal`: ends one fault, those of a link, or all. */
export const healCommand = (output: Output): Command =>
  new Command('heal')
    .description('end faults: one by its id, those between two clusters, or with --all every one')
    .argument('[what...]', 'an id, or two clusters')
    .addOption(nameOption())
    .option('--all', 'every fault')
    .addHelpText('after', '\nExamples:\n  understudy heal 3\n  understudy heal A B\n  understudy heal --all')
    .action(async (what: string[], flags: { name: string; all?: true }) => {
      const keeper = keeperOf(flags.name)
      const chosen = chooseFaults(await keeper.list(), what, flags.all === true)
      for (const { id } of chosen) await keeper.heal(id)
      output.progress(chosen.length === 0 ? 'there are no faults' : `healed ${chosen.map(describeActive).join('; ')}`)
    })

const chooseFaults = (
  active: readonly ActiveFault[],
  what: readonly string[],
  isAll: boolean,
): readonly ActiveFault[] => {
  if (isAll && what.length === 0) return active
  const [first = '', second] = what
  if (what.length === 1 && /^\d+$/.test(first)) {
    const found = active.find(({ id }) => id === Number(first))
    if (!found) throw new LabError('usage', `there is no fault ${first}`)
    return [found]
  }
  if (what.length === 2 && !isAll) {
    return active.filter(({ between }) => between.includes(first) && between.includes(second ?? ''))
  }
  throw new LabError('usage', 'say which: an id, two clusters, or --all')
}

const NO_LINKS = 'the links between its clusters do not go through the lab, so it cannot set faults on them'

const keeperOf = (lab: string): KeeperClient => new KeeperClient(requireLab(lab, NO_LINKS).keeper.socket)

const describeActive = (active: ActiveFault): string => `${describeLink(active)} ${describeFault(active.fault)}`

const toRow = (active: ActiveFault, nowMs: number): string[] => [
  String(active.id),
  describeLink(active),
  describeFault(active.fault),
  active.untilMs === undefined ? '-' : `${Math.max(0, Math.ceil((active.untilMs - nowMs) / 1000))}s`,
]

const milliseconds = (text: string, leastMs = 1): number => {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms < leastMs) throw new LabError('usage', `"${text}" is not a duration such as 80ms`)
  return ms
}

const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1000, mb: 1000 ** 2, kib: 1024, mib: 1024 ** 2 }

const bytes = (text: string): number => {
  const [, number, unit = 'b'] = /^(\d+)\s*([kKmM]?i?[bB])?$/.exec(text) ?? []
  const size = Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN)
  if (!(size > 0)) throw new LabError('usage', `"${text}" is not a size such as 256kB`)
  return size
}
