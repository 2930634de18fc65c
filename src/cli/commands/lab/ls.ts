import { counted } from '../../../base/counted.js'
import { messageOf } from '../../../base/printable.js'
import type { Command } from 'commander'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { parseTimeout, RESPONSE_TIMEOUT } from './options.js'
import { findLab } from '../../../lab/model/lab-directory.js'
import { type LabListing, listLabStates } from '../../../lab/lifecycle/listing.js'
import { observe } from '../../../lab/status/observe.js'

/** `understudy ls`: lists every lab that has files on this machine. */
export const lsCommand = (output: Output): Command =>
  new TypedCommand('ls')
    .description('list the labs of this machine and their health')
    .json()
    .examples('ls', 'ls --json')
    .run(async (flags) => {
      const host = thisHost()
      const labs = await listLabsWithHealth(host)
      if (flags.json) output.data(JSON.stringify(labs, undefined, 2))
      else if (labs.length === 0) output.progress('there are no labs; "understudy up pr-dr" starts one')
      else output.data(formatTable([HEADER, ...labs.map((lab) => toRow(lab, host.clock.now()))]))
    })

const HEADER = ['lab', 'topology', 'state', 'age', 'owner', 'servers', 'health', '']

const toRow = (lab: LabOverview, nowMs: number): string[] => [
  lab.name,
  lab.topology ?? '-',
  lab.state,
  lab.createdAt === undefined ? '-' : describeAge(nowMs - Date.parse(lab.createdAt)),
  lab.owner === undefined ? '-' : `pid ${lab.owner}`,
  lab.state === 'attached' ? String(lab.servers) : `${lab.running} of ${lab.servers}`,
  describeHealth(lab),
  lab.note,
]

/** Summarizes the health of a lab. `status` shows the problems in detail. */
const describeHealth = ({ problems }: LabOverview): string => {
  if (problems === null) return '-'
  return problems.length === 0 ? 'healthy' : counted(problems.length, 'problem')
}

const UNITS: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

const describeAge = (ms: number): string => {
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? ['s', 1000]
  return `${Math.max(0, Math.floor(ms / size))}${unit}`
}

/** A lab in the list. `problems`: null if no part of the lab is running. */
interface LabOverview extends LabListing {
  readonly problems: readonly string[] | null
}

/** States of labs whose clusters are queried. */
const QUERIED_STATES: ReadonlySet<LabListing['state']> = new Set(['running', 'partly running', 'attached'])

/** Returns all labs of this machine. The running clusters are queried in parallel, each for at most five seconds. */
const listLabsWithHealth = (host: LabHost): Promise<LabOverview[]> =>
  Promise.all(listLabStates(host).map(async (lab) => ({ ...lab, problems: await findProblems(lab, host) })))

/** Returns the problems of one lab; its error if it cannot be queried, so that the other labs are still listed. */
const findProblems = async ({ name, state }: LabListing, host: LabHost): Promise<readonly string[] | null> => {
  if (!QUERIED_STATES.has(state)) return null
  try {
    const lab = findLab(name)
    return lab ? (await observe(lab, host, parseTimeout(RESPONSE_TIMEOUT))).problems : null
  } catch (error) {
    return [messageOf(error)]
  }
}
