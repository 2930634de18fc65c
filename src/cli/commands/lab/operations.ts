import { Argument, type Command } from 'commander'
import type { ClusterAccess } from '../../../lab/model/cluster.js'
import { type Kind, KINDS } from '../../../lab/model/kinds.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { openLab } from '../../../lab/live/open-lab.js'
import { claimLab } from '../../../lab/processes/claim.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { failOver } from '../../../lab/operations/failover.js'
import { clearFilter, setFilter, showFilter } from '../../../lab/operations/filters.js'
import { activate, stepDown } from '../../../lab/operations/role-changes.js'
import { operationToken, rejoin, switchOver } from '../../../lab/operations/operations.js'
import { promoteCluster } from '../../../lab/operations/promotion.js'
import type { PathFilter } from '../../../lab/requests/filters.js'
import { parseAcceptedLoss } from '../../../lab/requests/expected-loss.js'
import { chooseClusters } from '../../../lab/nodes/choose.js'
import type { Runbook } from '../../../lab/operations/runbook.js'
import { type FlagsOf, TypedCommand } from '../../terminal/command.js'
import { confirmErasure, YES } from '../../terminal/confirm.js'
import { type Output, printResult } from '../../terminal/output.js'
import { parseTimeout } from './options.js'
import { workOnServers } from '../../../lab/lifecycle/servers.js'
import { SERVER_VERBS, type ServerVerb } from '../../../lab/model/server-verbs.js'

/** Returns the commands that change the replication of a lab. `--explain` prints the command for each API call. */
export const operationCommands = (output: Output): Command[] => {
  const make = (name: string, about: string, ...lines: readonly [string, string]) =>
    new TypedCommand<{ readonly operation: string }>(name)
      .description(about)
      .lab()
      .timeout()
      .flag('--explain', 'print the equivalent command for each API call')
      .flag('--dry-run', 'print the API calls without making them; implies --explain')
      .json(DONE_JSON)
      .setOptionValue('operation', name)
      .examples(...lines)
  type Flags = FlagsOf<ReturnType<typeof make>> & { readonly yes?: true }
  /** Runs an operation. Claims the lab first: a concurrent operation would invalidate the tokens of this one. */
  const runOperation = (flags: Flags, work: (book: Runbook) => Promise<unknown>) => {
    const { name, operation, json, explain, dryRun = false } = flags
    return printResult(output, flags, { lab: name, operation, dryRun }, async (onProgress) => {
      const host = thisHost()
      await using lab = openLab(name, host)
      const calls: string[] = []
      const book = lab.runbook({
        timeoutMs: parseTimeout(flags.timeout),
        onProgress,
        onCall: (line) => {
          calls.push(line)
          if (!json && (explain || dryRun)) output.data(line)
        },
        isDryRun: dryRun,
        onErase: confirmErasure(output, flags.yes === true || dryRun),
      })
      using _claim = dryRun ? undefined : claimLab(lab.name, 'operated', host)
      const result = await work(book)
      return { calls, ...(result as object | undefined) }
    })
  }
  const makeFilter = (name: string, about: string, ...lines: readonly [string, string]) =>
    make(name, about, ...lines)
      .argument('<primary>', 'performance primary')
      .argument('<secondary>', 'performance secondary of the primary')
  const filter = new TypedCommand('filter')
    .description('show, set and clear the path filters of performance secondaries')
    .examples('filter show A C', 'filter set A C --deny EU/')
  for (const command of [
    makeFilter('show', 'show the path filter of a secondary', 'filter show A C', 'filter show A C --json').run(
      (flags, primary: string, secondary: string) =>
        runOperation(flags, async (book) => {
          const found = await showFilter(book, primary, secondary)
          if (flags.dryRun) return undefined
          if (!flags.json && found) output.data(`${found.mode} ${found.paths.join(', ')}`)
          if (!flags.json && !found) output.progress(`${secondary} has no path filter`)
          return { filter: found ?? null }
        }),
    ),
    makeFilter(
      'set',
      'replace the path filter of a secondary',
      'filter set A C --deny EU/,ns1/',
      'filter set A C --allow US/ --yes',
    )
      .flag('--allow <paths>', 'replicate only these mounts and namespaces, separated by commas; not with --deny')
      .flag('--deny <paths>', 'do not replicate these mounts and namespaces, separated by commas; not with --allow')
      .flag(...YES)
      .run((flags, primary: string, secondary: string) => {
        const rule = ruleOf(flags)
        return runOperation(flags, (book) => setFilter(book, primary, secondary, rule))
      }),
    makeFilter('clear', 'remove the path filter of a secondary', 'filter clear A C', 'filter clear A C --explain').run(
      (flags, primary: string, secondary: string) =>
        runOperation(flags, (book) => clearFilter(book, primary, secondary)),
    ),
  ])
    filter.addCommand(command)
  return [
    make(
      'failover',
      'promote a DR secondary in place of its primary',
      'failover A B',
      'failover A B --accept-loss any --explain',
    )
      .argument('<lost>', 'lost primary; demoted first if it is running')
      .argument('<to>', 'DR secondary of the lost primary')
      .flag('--force', 'promote even if data may be lost, and do not demote a running primary')
      .flag(
        '--accept-loss <entries>',
        'maximum number of log entries that may be lost, or "any" to accept also an unknown number',
        '0',
      )
      .run((flags, lost: string, to: string) =>
        runOperation(flags, async (book) => {
          const acceptLoss = parseAcceptedLoss(flags.acceptLoss)
          const isThere = await failOver(book, { lost, to, isForced: flags.force === true, acceptLoss })
          book.say(
            `${isThere ? '' : `when ${lost} is running again, `}make ${lost} a secondary of ${to}: ${book.line({ verb: 'rejoin', clusters: [lost, to] })}`,
          )
        }),
      ),
    make(
      'switchover',
      'exchange the roles of a primary and its DR secondary',
      'switchover A B',
      'switchover A B --dry-run',
    )
      .argument('<primary>', 'DR primary')
      .argument('<secondary>', 'DR secondary of the primary')
      .run((flags, primary: string, secondary: string) =>
        runOperation(flags, (book) => switchOver(book, primary, secondary)),
      ),
    make(
      'promote',
      'promote a secondary, and make the others follow it',
      'promote C --kind performance',
      'promote B --dry-run',
    )
      .argument('<cluster>', 'secondary; its primary is demoted first if it is running')
      .choice(...KIND)
      .flag('--force', 'promote even if data may be lost, and do not demote a running primary')
      .run((flags, cluster: string) =>
        runOperation(flags, (book) => promoteCluster(book, cluster, flags.kind, flags.force === true)),
      ),
    make(
      'rejoin',
      'make a former primary a secondary of its successor',
      'rejoin A B',
      'rejoin A C --kind performance --explain',
    )
      .argument('<former>', 'former primary; discards the log entries that the new primary lacks')
      .argument('<primary>', 'new primary')
      .choice(...KIND)
      .flag(...YES)
      .run((flags, former: string, primary: string) =>
        runOperation(flags, (book) => rejoin(book, former, primary, flags.kind)),
      ),
    make(
      'activate',
      'erase a cluster and make it a secondary of another',
      'activate A C --kind performance',
      'activate A C --kind performance --filter deny:EU/',
    )
      .argument('<primary>', 'primary; replication is enabled if necessary')
      .argument('<secondary>', 'cluster that is erased and becomes a secondary')
      .choice('--kind <kind>', 'replication kind', KINDS, 'performance')
      .flag(...YES)
      .flag(
        '--filter <mode:paths>',
        'path filter: allow or deny, then mounts or namespaces separated by commas, such as deny:EU/',
      )
      .run((flags, primary: string, secondary: string) =>
        runOperation(flags, (book) => activate(book, primary, secondary, flags.kind, parseFilter(flags))),
      ),
    make('step-down', 'make the active node of a cluster step down', 'step-down A', 'step-down A --explain')
      .argument('<cluster>', 'cluster whose active node steps down')
      .run((flags, cluster: string) =>
        runOperation(flags, async (book) => {
          const [place] = chooseClusters<ClusterAccess>(book.lab, [cluster])
          if (place) await stepDown(book, place)
        }),
      ),
    make('token', 'generate a one-time DR operation token', 'token dr-operation B', 'token dr-operation B --explain')
      .addArgument(new Argument('<what>', 'type of the token').choices(['dr-operation']))
      .argument('<cluster>', 'DR secondary')
      .run((flags, _what: string, cluster: string) =>
        runOperation(flags, async (book) => {
          const token = await operationToken(book, cluster)
          if (flags.dryRun) return undefined
          if (!flags.json) output.data(token)
          return { token }
        }),
      ),
    filter,
  ]
}

const DONE_JSON = 'print the result as JSON'
const KIND = ['--kind <kind>', 'replication kind', KINDS, 'dr'] as const

const ruleOf = ({ allow, deny }: { readonly allow?: string; readonly deny?: string }): PathFilter => {
  const texts = (allow ?? deny ?? '').split(',').map((path) => path.trim())
  const paths = texts.filter((path) => path !== '')
  if ((allow === undefined) === (deny === undefined) || paths.length === 0)
    throw new LabError('usage', 'specify mounts or namespaces, such as EU/, with either --allow or --deny')
  return { mode: allow === undefined ? 'deny' : 'allow', paths }
}

const parseFilter = ({ filter, kind }: { readonly filter?: string; readonly kind: Kind }) => {
  if (filter === undefined) return undefined
  const [, mode, paths] = /^(allow|deny):(.+)$/.exec(filter) ?? []
  if (!mode || !paths) throw new LabError('usage', `"${filter}" is not of the form deny:EU/ or allow:a/,b/`)
  if (kind !== 'performance') throw new LabError('usage', 'only performance secondaries can have filters')
  return { mode: mode as 'allow' | 'deny', paths }
}

interface ServerFlags {
  readonly name: string
  readonly timeout: string
  readonly yes?: true
  readonly json?: true
}

/** Returns the commands for servers: `start`, `stop`, `crash` and the other verbs of `SERVER_VERBS`. */
export const serverCommands = (output: Output): Command[] =>
  Object.entries(SERVER_VERBS).map(([verb, { about, needsName }]) => {
    const command = new TypedCommand(verb)
      .description(about)
      .argument(
        needsName ? '<clusters...>' : '[clusters...]',
        `clusters, or nodes such as A2${needsName ? '' : ' (default: all clusters)'}`,
      )
      .lab()
      .timeout()
      .json(DONE_JSON)
      .examples(`${verb} A`, `${verb} B C --name drill`)
    if (verb === 'wipe') command.flag(...YES)
    return command.run((flags: ServerFlags, clusters: string[]) =>
      printResult(output, flags, { lab: flags.name, operation: verb }, (onProgress) => {
        const onErase = confirmErasure(output, flags.yes === true)
        const options = { timeoutMs: parseTimeout(flags.timeout), onProgress, onErase }
        return workOnServers(flags.name, verb as ServerVerb, clusters, options, thisHost())
      }),
    )
  })
