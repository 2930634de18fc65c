import { describeStep } from '../../drills/steps/steps.js'
import { describeFault, describePlace, findBetween, healEach } from '../../daemon/active-fault.js'
import type { LinkFault } from '../../proxy/link-faults.js'
import type { LabHost } from '../../processes/lab-host.js'
import { workOnServers } from '../../lifecycle/servers.js'
import type { LiveLab } from '../../live/live-lab.js'
import type { ServerVerb } from '../../model/server-verbs.js'
import { loadOver, resetLab } from '../../snapshot/reset.js'
import { saveSnapshot, withSnapshot } from '../../snapshot/save.js'
import type { PageAction, PageVerb } from '../page-facts.js'
import { findDrill, playDrill, stepsOf } from './drill-action.js'
import { findRoleAction } from './role-actions.js'
import type { Told } from './told.js'

/** Timeout of each wait in milliseconds, as on the command line. */
const TIMEOUT_MS = 30_000

/** The context of an action. */
interface Means {
  readonly lab: LiveLab
  readonly host: LabHost
  readonly told: Told
  readonly signal: AbortSignal
  /** The equivalent shell command. */
  readonly command: string | null
}

/** Runs an action with the code of the command line, and returns its result. Rejects as the command would fail. */
export const doAction = async (action: PageAction, means: Means): Promise<string> => {
  const { verb } = action
  return verb in OTHERS ? OTHERS[verb as keyof typeof OTHERS](action, means) : workOn(verb as ServerVerb, action, means)
}

const workOn = async (verb: ServerVerb, { clusters }: PageAction, { lab, host, told }: Means): Promise<string> => {
  const { said, say } = listen(told)
  await workOnServers(lab.name, verb, clusters, { timeoutMs: TIMEOUT_MS, onProgress: say }, host)
  return said.at(-1) ?? ''
}

/** Collects and forwards messages. The last one is the result. */
const listen = (told: Told) => {
  const said: string[] = []
  const say = (text: string) => {
    said.push(text)
    told.say(text)
  }
  return { said, say }
}

/** Returns the requests that an action would send, or the steps of a drill. Empty if the action is a single command. */
export const linesOf = async (action: PageAction, { lab }: Pick<Means, 'lab'>): Promise<readonly string[]> => {
  for (const name of action.clusters) lab.requirePlace(name)
  if (action.verb === 'drill') return stepsOf(findDrill(action.name ?? '', lab)).map(describeStep)
  const change = findRoleAction(action.verb)
  if (!change) return []
  await lab.followActiveNodes()
  const lines: string[] = []
  const told = { say: () => undefined, call: (line: string) => void lines.push(line) }
  await change(runbookOf(lab, told, true), action)
  return lines
}

const runbookOf = (lab: LiveLab, { say, call }: Pick<Told, 'say' | 'call'>, isDryRun = false) =>
  lab.runbook({
    timeoutMs: TIMEOUT_MS,
    onProgress: say,
    onCall: call,
    isDryRun,
  })

type Doing = (action: PageAction, means: Means) => Promise<string>

const changeRoles: Doing = async (action, { lab, told }) => {
  const { said, say } = listen(told)
  await lab.followActiveNodes()
  await findRoleAction(action.verb)?.(runbookOf(lab, { say, call: told.call }), action)
  return said.at(-1) ?? ''
}

const setOnLink =
  (make: (action: PageAction) => LinkFault): Doing =>
  async (action, { lab }) => {
    const [one = '', other = ''] = action.clusters
    const set = await lab.setFault({ between: [one, other], isOneWay: false, fault: make(action) })
    return `fault ${set.id}: ${describePlace(set)}, ${describeFault(set)}`
  }

const heal: Doing = async ({ clusters: [one = '', other = ''] }, { lab }) => {
  const found = findBetween(await lab.faults(), [lab.cluster(one).name], [lab.cluster(other).name])
  const healed = await healEach((id) => lab.heal([id]), found)
  if (healed.length === 0) return `there is no fault between ${one} and ${other}`
  return `healed ${healed.map((fault) => `${describePlace(fault)}, ${describeFault(fault)}`).join('; ')}`
}

const OTHERS = {
  promote: changeRoles,
  demote: changeRoles,
  failover: changeRoles,
  switchover: changeRoles,
  rejoin: changeRoles,
  'step-down': changeRoles,
  cut: setOnLink(() => ({ name: 'partition' })),
  latency: setOnLink(({ ms = 0 }) => ({ name: 'latency', ms })),
  heal,
  drill: ({ name = '' }, { lab, told, signal, command }) =>
    playDrill(lab, findDrill(name, lab), { told, signal, command: command ?? '', timeoutMs: TIMEOUT_MS }),
  save: async ({ name = '' }, { lab, host, signal }) => {
    const { file, pausedMs } = await saveSnapshot(lab.name, name, { isForced: false, signal }, host)
    return `${file}; writes waited for ${pausedMs} ms`
  },
  load: ({ name = '' }, { lab, host, signal }) =>
    withSnapshot(name, host, async (image) => {
      await loadOver(lab.name, image, { timeoutMs: TIMEOUT_MS, signal }, host)
      return `the lab is as it was on ${image.manifest.savedAt}`
    }),
  reset: async (_, { lab, host, signal }) => {
    const { savedAt } = await resetLab(lab.name, { timeoutMs: TIMEOUT_MS, signal }, host)
    return `the lab is back at its start, as it was on ${savedAt}`
  },
} as const satisfies Readonly<Record<Exclude<PageVerb, ServerVerb>, Doing>>
