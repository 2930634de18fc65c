import { Command } from 'commander'
import { LabError } from '../../../lab/model/lab-error.js'
import { requireAnyLab } from '../../../lab/model/lab-directory.js'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { drawSurvey } from '../../../lab/status/draw.js'
import { type Survey, surveyLab } from '../../../lab/status/survey.js'
import { examples } from '../../terminal/help.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { nameOption } from './options.js'
import { watchStatus } from './status-watch.js'

interface StatusFlags {
  readonly name: string
  readonly json?: true
  readonly watch?: true
}

/**
 * `understudy status`: shows the replication topology, the state of all clusters, and problems. Exits with 2 if there
 * are problems.
 */
export const statusCommand = (output: Output, makeHost: () => LabHost = thisHost): Command =>
  new Command('status')
    .description('show the replication topology of a lab, the lag and the problems; exit code 2 if there are problems')
    .addOption(nameOption())
    .option('-w, --watch', 'refresh until q or Ctrl-C; without a terminal, print changes as lines')
    .option('--json', 'print JSON; with --watch, one object per line')
    .addHelpText('after', examples('status', 'status --watch', 'status --name drill --json'))
    .action(async (flags: StatusFlags) => {
      const host = makeHost()
      const look = () => surveyLab(requireAnyLab(flags.name), host)
      const draw = (survey: Survey, width = Number.POSITIVE_INFINITY) =>
        formatTable(fitToWidth(drawSurvey(survey, host.clock.now()), width))
      if (flags.watch) return watchStatus({ ...flags, look, draw, host, output })
      const survey = await look()
      output.data(flags.json ? JSON.stringify(survey, undefined, 2) : draw(survey))
      if (survey.problems.length > 0) throw new LabError('remote', survey.problems.join('; '))
    })

/** Columns that a narrow screen omits, in this order. */
const SPARE = ['process', 'address', 'merkle root', 'wal', 'heartbeat']

/** Spaces between two columns. */
const GAP = 2

/**
 * Returns the rows of a table, header first, for a screen of this width. Omits optional columns as a whole. If the rest
 * is still too wide, the state column comes last, because its beginning matters most.
 */
export const fitToWidth = (rows: readonly (readonly string[])[], width: number): string[][] => {
  let kept = rows.map((row) => [...row])
  for (const name of SPARE) {
    if (widthOf(kept) <= width) return kept
    const at = kept[0]?.indexOf(name) ?? -1
    if (at >= 0) kept = kept.map((row) => row.toSpliced(at, 1))
  }
  const state = kept[0]?.indexOf('state') ?? -1
  if (widthOf(kept) <= width || state < 0) return kept
  return kept.map((row) => [...row.toSpliced(state, 1), row[state] ?? ''])
}

const widthOf = (rows: readonly (readonly string[])[]): number =>
  (rows[0] ?? [])
    .map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)))
    .reduce((sum, one) => sum + one + GAP, -GAP)
