import { Command } from 'commander'
import { LabError } from '../../../lab/lab-error.js'
import { requireAnyLab } from '../../../lab/lifecycle/lab-directory.js'
import { type LabHost, thisHost } from '../../../lab/lifecycle/lab-host.js'
import { type ClusterView, type RoleView, surveyLab } from '../../../lab/survey.js'
import { formatTable, type Output } from '../../output.js'
import { nameOption } from './options.js'

/** `understudy status`: what all clusters say of themselves, and what is wrong in words. Ends with 2 when anything is. */
export const statusCommand = (output: Output, makeHost: () => LabHost = thisHost): Command =>
  new Command('status')
    .description('show roles, states and merkle roots of all clusters of a lab; status 2 when something is wrong')
    .addOption(nameOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  understudy status\n  understudy status --name drill --json')
    .action(async (flags: { name: string; json?: true }) => {
      const survey = await surveyLab(requireAnyLab(flags.name), makeHost())
      output.data(
        flags.json ? JSON.stringify(survey, undefined, 2) : formatTable([HEADER, ...survey.clusters.map(toRow)]),
      )
      if (survey.problems.length > 0) throw new LabError('remote', survey.problems.join('; '))
    })

const HEADER = ['cluster', 'process', 'health', 'dr', 'performance', 'wal', 'merkle root']
const ROOT_SHOWN = 12

const toRow = (view: ClusterView): string[] => {
  const replicated = view.dr.merkleRoot ? view.dr : view.performance
  return [
    view.name,
    view.pid === null ? view.process : `pid ${view.pid}${view.process === 'paused' ? ', paused' : ''}`,
    view.health === null ? 'no answer' : String(view.health),
    describeRole(view.dr),
    describeRole(view.performance),
    replicated.merkleRoot ? String(replicated.lastWal) : '-',
    replicated.merkleRoot.slice(0, ROOT_SHOWN) || '-',
  ]
}

const describeRole = ({ mode, state, connectionState }: RoleView): string =>
  [mode, state, connectionState].filter((part) => part !== '').join(', ')
