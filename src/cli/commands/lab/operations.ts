import { Argument, type Command } from 'commander'
import type { ClusterAccess } from '../../../lab/model/cluster.js'
import { type Kind, KINDS } from '../../../lab/model/kinds.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { openLab } from '../../../lab/live/open-lab.js'
import { claimLab } from '../../../lab/processes/claim.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { activate, stepDown } from '../../../lab/operations/role-changes.js'
import { failOver, operationToken, rejoin, switchOver } from '../../../lab/operations/operations.js'
import { parseAcceptedLoss } from '../../../lab/requests/expected-loss.js'
import { chooseClusters } from '../../../lab/nodes/choose.js'
import type { Runbook } from '../../../lab/operations/runbook.js'
import { type FlagsOf, TypedCommand } from '../../terminal/command.js'
import { type Output, printDone } from '../../terminal/output.js'
import { parseTimeout } from './options.js'
import { workOnServers } from '../../../lab/lifecycle/servers.js'
import { SERVER_VERBS, type ServerVerb } from '../../../lab/model/server-verbs.js'

/** Commands for whole operations on a lab. With --explain, they print each call as a runbook line. */
export const operationCommands = (output: Output): Command[] => {
  const make = (name: string, about: string, ...lines: readonly [string, string]) =>
    new TypedCommand<{ readonly operation: string }>(name)
      .description(about)
      .lab()
      .timeout()
      .flag('--explain', 'print the equivalent command for each API call')
      .flag('--dry-run', 'print the API calls without making them')
      .json(DONE_JSON)
      .setOptionValue('operation', name)
      .examples(...lines)
  type Flags = FlagsOf<ReturnType<typeof make>>
  /** Runs one operation at a time per lab, because each creates tokens that invalidate those of another. */
  const operate = (flags: Flags, work: (book: Runbook) => Promise<unknown>) => {
    const { name, operation, json, explain, dryRun = false } = flags
    return printDone(output, flags, { lab: name, operation, dryRun }, async (say) => {
      const host = thisHost()
      await using lab = openLab(name, host)
      const calls: string[] = []
      const book = lab.runbook({
        timeoutMs: parseTimeout(flags.timeout),
        onProgress: say,
        onCall: (line) => {
          calls.push(line)
          if (!json && (explain || dryRun)) output.data(line)
        },
        isDryRun: dryRun,
      })
      const claim = dryRun ? undefined : claimLab(lab.name, 'operated', host.me, host.table)
      try {
        const result = await work(book)
        return { calls, ...(result as object | undefined) }
      } finally {
        claim?.release()
      }
    })
  }
  return [
    make(
      'failover',
      'promote the DR secondary in place of the primary; a running primary is demoted first',
      'failover A B',
      'failover A B --accept-loss any --explain',
    )
      .argument('<lost>', 'the lost primary')
      .argument('<to>', 'its DR secondary')
      .flag('--force', 'promote even if data may be lost, and do not demote a running primary')
      .flag(
        '--accept-loss <entries>',
        'highest number of log entries that may be lost, or "any" if the number may be unknown',
        '0',
      )
      .run((flags, lost: string, to: string) =>
        operate(flags, async (book) => {
          const acceptLoss = parseAcceptedLoss(flags.acceptLoss)
          const isThere = await failOver(book, { lost, to, isForced: flags.force === true, acceptLoss })
          book.say(
            `${isThere ? '' : `when ${lost} is running again, `}make ${lost} a secondary of ${to}: ${book.line(`rejoin ${lost} ${to}`)}`,
          )
        }),
      ),
    make(
      'switchover',
      'exchange the roles of a primary and its DR secondary without data loss',
      'switchover A B',
      'switchover A B --dry-run',
    )
      .argument('<primary>')
      .argument('<secondary>')
      .run((flags, primary: string, secondary: string) =>
        operate(flags, (book) => switchOver(book, primary, secondary)),
      ),
    make('rejoin', 'make a former primary a secondary of its successor', 'rejoin A B', 'rejoin A B --explain')
      .argument('<former>')
      .argument('<primary>')
      .run((flags, former: string, primary: string) => operate(flags, (book) => rejoin(book, former, primary))),
    make(
      'activate',
      'make a cluster a secondary of another; removes its data',
      'activate A C --kind performance',
      'activate A C --kind performance --filter deny:EU/',
    )
      .argument('<primary>')
      .argument('<secondary>')
      .choice('--kind <kind>', 'replication kind', KINDS, 'performance')
      .flag(
        '--filter <mode:paths>',
        'path filter: allow or deny, then mounts or namespaces separated by commas, such as deny:EU/',
      )
      .run((flags, primary: string, secondary: string) =>
        operate(flags, (book) => activate(book, primary, secondary, flags.kind, parseFilter(flags))),
      ),
    make(
      'step-down',
      'make the active node of a cluster step down, so that another node becomes active',
      'step-down A',
      'step-down A --explain',
    )
      .argument('<cluster>')
      .run((flags, cluster: string) =>
        operate(flags, async (book) => {
          const [place] = chooseClusters<ClusterAccess>(book.lab, [cluster])
          if (place) await stepDown(book, place)
        }),
      ),
    make('token', 'generate a one-time DR operation token', 'token dr-operation B', 'token dr-operation B --explain')
      .addArgument(new Argument('<what>').choices(['dr-operation']))
      .argument('<cluster>')
      .run((flags, _what: string, cluster: string) =>
        operate(flags, async (book) => {
          const token = await operationToken(book, cluster)
          if (flags.dryRun) return undefined
          if (!flags.json) output.data(token)
          return { token }
        }),
      ),
  ]
}

const DONE_JSON = 'print JSON: what was done'

const parseFilter = ({
  filter,
  kind,
}: {
  readonly filter?: string
  readonly kind: Kind
}): { mode: 'allow' | 'deny'; paths: string } | undefined => {
  if (filter === undefined) return undefined
  const [, mode, paths] = /^(allow|deny):(.+)$/.exec(filter) ?? []
  if (!mode || !paths) throw new LabError('usage', `"${filter}" is not of the form deny:EU/ or allow:a/,b/`)
  if (kind !== 'performance') throw new LabError('usage', 'only performance secondaries can have filters')
  return { mode: mode as 'allow' | 'deny', paths }
}

/** `understudy start|stop|restart|crash|pause|resume|seal|unseal`: one command each. */
export const serverCommands = (output: Output): Command[] =>
  Object.entries(SERVER_VERBS).map(([verb, { about, needsName }]) =>
    new TypedCommand(verb)
      .description(about)
      .argument(needsName ? '<clusters...>' : '[clusters...]', 'A, B, ..., or a node such as A2')
      .lab()
      .timeout()
      .json(DONE_JSON)
      .examples(`${verb} A`, `${verb} B C --name drill`)
      .run((flags, clusters: string[]) =>
        printDone(output, flags, { lab: flags.name, operation: verb }, (onProgress) => {
          const options = { timeoutMs: parseTimeout(flags.timeout), onProgress }
          return workOnServers(flags.name, verb as ServerVerb, clusters, options, thisHost())
        }),
      ),
  )
