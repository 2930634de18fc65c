import { Command, Option } from 'commander'
import type { ClusterAccess } from '../../../lab/model/cluster.js'
import type { Kind } from '../../../lab/model/kinds.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { openLab } from '../../../lab/live/open-lab.js'
import { claimLab } from '../../../lab/processes/claim.js'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { activate, stepDown } from '../../../lab/operations/role-changes.js'
import { failOver, operationToken, rejoin, switchOver } from '../../../lab/operations/operations.js'
import { chooseClusters } from '../../../lab/nodes/choose.js'
import type { Runbook } from '../../../lab/operations/runbook.js'
import type { Output } from '../../terminal/output.js'
import { nameOption, parseTimeout, timeoutOption } from './options.js'

interface Flags {
  readonly name: string
  readonly timeout: string
  readonly explain?: true
  readonly dryRun?: true
  readonly json?: true
  readonly force?: true
  readonly kind: Kind
  readonly filter?: string
}

/** Commands for whole operations on a lab. With --explain, they print each call as a runbook line. */
export const operationCommands = (output: Output, makeHost: () => LabHost = thisHost): Command[] => {
  const make = (name: string, about: string, examples: readonly string[]) =>
    new Command(name)
      .description(about)
      .addOption(nameOption())
      .addOption(timeoutOption())
      .option('--explain', 'print the equivalent command for each API call')
      .option('--dry-run', 'print the API calls without making them')
      .addHelpText('after', `\nExamples:\n${examples.map((line) => `  understudy ${line}`).join('\n')}`)
  /** Runs one operation at a time per lab, because each creates tokens that invalidate those of another. */
  const operate = async (flags: Flags, work: (book: Runbook) => Promise<void>): Promise<void> => {
    const host = makeHost()
    await using lab = openLab(flags.name, host)
    const book = lab.runbook({
      timeoutMs: parseTimeout(flags.timeout),
      onProgress: output.progress,
      onCall: flags.explain || flags.dryRun ? (line) => output.data(line) : undefined,
      isDryRun: flags.dryRun === true,
    })
    if (flags.dryRun) return work(book)
    const claim = claimLab(lab.name, 'operated', host.me, host.table)
    try {
      await work(book)
    } finally {
      claim.release()
    }
  }
  return [
    make('failover', 'promote the DR secondary in place of the primary; a primary that is alive is demoted first', [
      'failover A B',
      'failover A B --force --explain',
    ])
      .argument('<lost>', 'the lost primary')
      .argument('<to>', 'its DR secondary')
      .option('--force', 'promote even if data may be lost, and do not demote a primary that is alive')
      .action((lost: string, to: string, flags: Flags) =>
        operate(flags, async (book) => {
          const isThere = await failOver(book, { lost, to, isForced: flags.force === true })
          book.say(
            `${isThere ? `to have ${lost} follow ${to}` : `when ${lost} is back`}: ${book.line(`rejoin ${lost} ${to}`)}`,
          )
        }),
      ),
    make('switchover', 'exchange the roles of a primary and its DR secondary without data loss', [
      'switchover A B',
      'switchover A B --dry-run',
    ])
      .argument('<primary>')
      .argument('<secondary>')
      .action((primary: string, secondary: string, flags: Flags) =>
        operate(flags, (book) => switchOver(book, primary, secondary)),
      ),
    make('rejoin', 'make a former primary a secondary of its successor', ['rejoin A B', 'rejoin A B --explain'])
      .argument('<former>')
      .argument('<primary>')
      .action((former: string, primary: string, flags: Flags) =>
        operate(flags, (book) => rejoin(book, former, primary)),
      ),
    make('activate', 'make a cluster a secondary of another; removes its data', [
      'activate A C --kind performance',
      'activate A C --kind performance --filter deny:EU/',
    ])
      .argument('<primary>')
      .argument('<secondary>')
      .addOption(new Option('--kind <kind>', 'replication kind').choices(['dr', 'performance']).default('performance'))
      .option(
        '--filter <mode:paths>',
        'path filter: allow or deny, then mounts or namespaces separated by commas, such as deny:EU/',
      )
      .action((primary: string, secondary: string, flags: Flags) =>
        operate(flags, async (book) => activate(book, primary, secondary, flags.kind, parseFilter(flags))),
      ),
    make('step-down', 'make the active node of a cluster step down, so that another node becomes active', [
      'step-down A',
      'step-down A --explain',
    ])
      .argument('<cluster>')
      .action((cluster: string, flags: Flags) =>
        operate(flags, async (book) => {
          const [place] = chooseClusters<ClusterAccess>(book.lab, [cluster])
          if (place) await stepDown(book, place)
        }),
      ),
    make('token', 'generate a one-time DR operation token', ['token dr-operation B', 'token dr-operation B --explain'])
      .addArgument(new Command().createArgument('<what>').choices(['dr-operation']))
      .argument('<cluster>')
      .option('--json', 'print JSON')
      .action((_what: string, cluster: string, flags: Flags) =>
        operate(flags, async (book) => {
          const token = await operationToken(book, cluster)
          if (!flags.dryRun) output.data(flags.json ? JSON.stringify({ token }, undefined, 2) : token)
        }),
      ),
  ]
}

const parseFilter = ({ filter, kind }: Flags): { mode: 'allow' | 'deny'; paths: string } | undefined => {
  if (filter === undefined) return undefined
  const [, mode, paths] = /^(allow|deny):(.+)$/.exec(filter) ?? []
  if (!mode || !paths) throw new LabError('usage', `"${filter}" is not of the form deny:EU/ or allow:a/,b/`)
  if (kind !== 'performance') throw new LabError('usage', 'only performance secondaries have filters')
  return { mode: mode as 'allow' | 'deny', paths }
}
