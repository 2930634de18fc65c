import { shellWord } from '../../../base/shell.js'
import { describeStep } from '../../drills/steps/steps.js'
import { describeFault, describePlace, findBetween, healEach } from '../../daemon/active-fault.js'
import type { LiveLab } from '../../live/live-lab.js'
import { failOver, operationToken, rejoin, switchOver } from '../../operations/operations.js'
import { demote, promote } from '../../operations/role-changes.js'
import { loadOver, resetLab } from '../../snapshot/reset.js'
import { saveSnapshot, withSnapshot } from '../../snapshot/save.js'
import type { PageAction, PageVerb } from '../page-facts.js'
import { findDrill, playDrill, stepsOf } from './drill-job.js'
import {
  both,
  canSuspend,
  ending,
  hasImage,
  hasNodes,
  isAlways,
  isOwn,
  type LabAction,
  linkFault,
  one,
  other,
  ownsServers,
  requireMode,
  role,
  roleChange,
  runbookOf,
  server,
  TIMEOUT_MS,
} from './lab-action.js'

const named = ({ name = '' }: PageAction): string => shellWord(name)

export const ACTIONS: Readonly<Record<PageVerb, LabAction>> = {
  start: server('start', 'Start', ownsServers, 'It runs again on its data and is unsealed.'),
  stop: ending(
    'stop',
    'Stop …',
    ownsServers,
    'It ends in order; its data stays. Clients get no answer until it is started.',
  ),
  crash: ending(
    'crash',
    'Crash …',
    ownsServers,
    'It is killed in the middle of what it does. Its data stays as it is then.',
  ),
  pause: ending('pause', 'Freeze …', canSuspend, 'It is frozen: connections stay open, and nothing answers.'),
  resume: server('resume', 'Let it go on', canSuspend, 'It goes on where it was frozen.'),
  seal: ending('seal', 'Seal …', isAlways, 'It forgets its keys and serves no client until it is unsealed.'),
  unseal: server('unseal', 'Unseal', isAlways, 'The keys that the lab holds open it.'),
  cut: {
    ...linkFault(() => ({ name: 'partition' })),
    label: () => 'Cut',
    title: (action) => `cut the link between ${both(action, ' and ')}`,
    line: (action) => `fault partition ${both(action, ' ')}`,
    consequence: () => 'Nothing passes until it is healed.',
  },
  latency: {
    ...linkFault(({ ms = 0 }) => ({ name: 'latency', ms })),
    asks: 'ms',
    label: () => 'Delay …',
    title: (action) => `delay the link between ${both(action, ' and ')} by ${action.ms} ms`,
    line: (action) => `fault latency ${both(action, ' ')} ${action.ms}ms`,
    consequence: () => 'All that passes comes so much later, until it is healed.',
  },
  heal: {
    clusters: 2,
    supports: isOwn,
    label: () => 'Heal',
    title: (action) => `heal the link between ${both(action, ' and ')}`,
    line: (action) => `heal ${both(action, ' ')}`,
    consequence: () => 'Every fault of the link ends, hidden ones as well.',
    run: async (action, { lab }) => {
      const found = findBetween(await lab.faults(), [lab.cluster(one(action)).name], [lab.cluster(other(action)).name])
      const healed = await healEach((id) => lab.heal([id]), found)
      if (healed.length === 0) return `there is no fault between ${both(action, ' and ')}`
      return `healed ${healed.map((fault) => `${describePlace(fault)}, ${describeFault(fault)}`).join('; ')}`
    },
  },
  promote: roleChange(1, {
    hasKind: true,
    canForce: true,
    label: (action) => `Promote to ${role(action)} primary …`,
    title: (action) => `promote ${one(action)} to ${role(action)} primary`,
    consequence: ({ isForced }) =>
      isForced
        ? 'It leads from then on, also where it lacks something, and what it lacks is lost.'
        : 'It leads from then on. A primary that is alive stays one: demote that first, or let it fail over.',
    steps: async (book, action) => {
      await requireMode(book, action, 'secondary')
      const { kind = 'dr', isForced = false } = action
      const token = kind === 'dr' ? await operationToken(book, one(action)) : undefined
      await promote(book, one(action), kind, { token, isForced })
      book.say(`${one(action)} is a ${role(action)} primary now`)
    },
  }),
  demote: roleChange(1, {
    hasKind: true,
    label: (action) => `Demote from ${role(action)} primary …`,
    title: (action) => `demote ${one(action)} from ${role(action)} primary to secondary`,
    consequence: () => 'It accepts no more writes, and has no primary until it is told one.',
    steps: async (book, action) => {
      await requireMode(book, action, 'primary')
      await demote(book, one(action), action.kind ?? 'dr')
      book.say(`${one(action)} is a ${role(action)} secondary now and follows nobody`)
    },
  }),
  failover: roleChange(2, {
    canForce: true,
    label: (action) => `Fail over from ${one(action)} …`,
    title: (action) => `fail over from ${both(action, ' to ')}`,
    line: (action) => `failover ${both(action, ' ')}${action.isForced ? ' --force' : ''}`,
    consequence: (action) =>
      action.isForced
        ? `${other(action)} leads from then on, also where it lacks something, and ${one(action)} is left as it is: where that is alive there are two primaries.`
        : `${other(action)} leads from then on. ${one(action)} is demoted first when it is alive, so that nothing is lost.`,
    steps: async (book, action) => {
      await failOver(book, { lost: one(action), to: other(action), isForced: action.isForced === true })
    },
  }),
  switchover: roleChange(2, {
    label: (action) => `Change places with ${one(action)} …`,
    title: (action) => `let ${both(action, ' and ')} change places`,
    line: (action) => `switchover ${both(action, ' ')}`,
    consequence: (action) => `${other(action)} leads and ${one(action)} follows from then on; nothing is lost.`,
    steps: (book, action) => switchOver(book, one(action), other(action)),
  }),
  rejoin: roleChange(2, {
    label: (action) => `Follow ${other(action)} …`,
    title: (action) => `let ${both(action, ' follow ')}`,
    line: (action) => `rejoin ${both(action, ' ')}`,
    consequence: (action) => `What ${one(action)} has and ${other(action)} lacks is lost.`,
    steps: (book, action) => rejoin(book, one(action), other(action)),
  }),
  'step-down': roleChange(
    1,
    {
      label: () => 'Hand over …',
      title: (action) => `let another node of ${one(action)} become active`,
      consequence: () => 'The active node hands over and is a standby from then on. Requests wait for a moment.',
      steps: async (book, action) => {
        await book.call({ cluster: one(action), method: 'PUT', path: 'sys/step-down', isAuthenticated: true })
        book.say(`the active node of ${one(action)} hands over`)
      },
    },
    hasNodes,
  ),
  drill: {
    ...{ clusters: 0, supports: isAlways, asks: 'drill', isDestructive: true, isAlone: true, canBeStopped: true },
    label: () => 'Run a drill …',
    title: (action) => `run the drill ${action.name}`,
    // Without a name, the command would start a new lab.
    line: (action, lab) => `drill run ${named(action)}${lab === 'default' ? ' --name default' : ''}`,
    consequence: () => 'It is played on this lab, which stays as the drill leaves it; a reset brings it back.',
    lines: ({ name = '' }, lab) => stepsOf(findDrill(name, lab)).map(describeStep),
    run: ({ name = '' }, context) => playDrill(findDrill(name, context.lab), context),
  },
  save: {
    ...{ clusters: 0, supports: hasImage, asks: 'new-snapshot', isAlone: true },
    label: () => 'Keep a snapshot …',
    title: (action) => `keep the lab as the snapshot ${action.name}`,
    line: (action) => `snapshot save ${named(action)}`,
    consequence: () => 'Writes wait for less than a second.',
    run: async ({ name = '' }, { lab, host, signal }) => {
      const { file, pausedMs } = await saveSnapshot(lab.name, name, { isForced: false, signal }, host)
      return `${file}; writes waited for ${pausedMs} ms`
    },
  },
  load: {
    ...{ clusters: 0, supports: hasImage, asks: 'snapshot', isDestructive: true, isAlone: true },
    label: () => 'Bring back a snapshot …',
    title: (action) => `bring the lab back to the snapshot ${action.name}`,
    line: (action) => `snapshot load ${named(action)}`,
    consequence: () => 'All that happened to the lab since then is lost.',
    run: ({ name = '' }, { lab, host, signal }) =>
      withSnapshot(name, host, async (image) => {
        await loadOver(lab.name, image, { timeoutMs: TIMEOUT_MS, signal }, host)
        return `the lab is as it was on ${image.manifest.savedAt}`
      }),
  },
  reset: {
    ...{ clusters: 0, supports: hasImage, isDestructive: true, isAlone: true },
    label: () => 'Reset …',
    title: () => 'reset the lab',
    line: () => 'reset',
    consequence: () => 'The lab is as it was right after it came up, or was loaded; all that happened since is lost.',
    run: async (_, { lab, host, signal }) => {
      const { savedAt } = await resetLab(lab.name, { timeoutMs: TIMEOUT_MS, signal }, host)
      return `the lab is back at its start, as it was on ${savedAt}`
    },
  },
}

/** Returns the requests that an action would send, or the steps of a drill. Empty if the action is a single command. */
export const linesOf = async (action: PageAction, lab: LiveLab): Promise<readonly string[]> => {
  for (const name of action.clusters) lab.requirePlace(name)
  const { steps, lines } = ACTIONS[action.verb]
  if (!steps) return lines?.(action, lab) ?? []
  await lab.followActiveNodes()
  const calls: string[] = []
  await steps(runbookOf(lab, { say: () => undefined, call: (line) => void calls.push(line) }, true), action)
  return calls
}
