import { shellWord } from '../../../base/shell.js'
import { describeStep } from '../../drills/steps/steps.js'
import { describeFault, describeTarget, findBetween, healEach } from '../../daemon/active-fault.js'
import type { LiveLab } from '../../live/live-lab.js'
import { failOver, operationToken, rejoin, switchOver } from '../../operations/operations.js'
import { demote, promote } from '../../operations/role-changes.js'
import { loadOver, resetLab } from '../../snapshot/reset.js'
import { saveSnapshot, withSnapshot } from '../../snapshot/take-image.js'
import type { PageAction, PageVerb } from '../page-facts.js'
import { findDrill, playDrill, stepsOf } from './drill-job.js'
import {
  ending,
  type LabAction,
  linkFault,
  requireMode,
  role,
  roleChange,
  runbookOf,
  server,
  TIMEOUT_MS,
} from './lab-action.js'

const named = ({ name = '' }: PageAction): string => shellWord(name)

export const ACTIONS: Readonly<Record<PageVerb, LabAction>> = {
  start: server('start', 'Start', 'servers', 'It runs again on its data and is unsealed.'),
  stop: ending(
    'stop',
    'Stop …',
    'servers',
    'It ends in order; its data stays. Clients get no answer until it is started.',
  ),
  crash: ending(
    'crash',
    'Crash …',
    'servers',
    'It is killed in the middle of what it does. Its data stays as it is then.',
  ),
  pause: ending('pause', 'Freeze …', 'processes', 'It is frozen: connections stay open, and nothing answers.'),
  resume: server('resume', 'Let it go on', 'processes', 'It goes on where it was frozen.'),
  seal: ending('seal', 'Seal …', 'nothing', 'It forgets its keys and serves no client until it is unsealed.'),
  unseal: server('unseal', 'Unseal', 'nothing', 'The keys that the lab holds open it.'),
  cut: {
    ...linkFault(() => ({ name: 'partition' })),
    label: () => 'Cut',
    title: ({ clusters }) => `cut the link between ${clusters.join(' and ')}`,
    line: ({ clusters }) => `fault partition ${clusters.join(' ')}`,
    consequence: () => 'Nothing passes until it is healed.',
  },
  latency: {
    ...linkFault(({ ms = 0 }) => ({ name: 'latency', ms })),
    asks: 'ms',
    label: () => 'Delay …',
    title: ({ clusters, ms }) => `delay the link between ${clusters.join(' and ')} by ${ms} ms`,
    line: ({ clusters, ms }) => `fault latency ${clusters.join(' ')} ${ms}ms`,
    consequence: () => 'All that passes comes so much later, until it is healed.',
  },
  heal: {
    clusters: 2,
    needs: 'links',
    label: () => 'Heal',
    title: ({ clusters }) => `heal the link between ${clusters.join(' and ')}`,
    line: ({ clusters }) => `heal ${clusters.join(' ')}`,
    consequence: () => 'Every fault of the link ends, hidden ones as well.',
    run: async ({ clusters: [one = '', other = ''] }, { lab }) => {
      const found = findBetween(await lab.faults(), [lab.cluster(one).name], [lab.cluster(other).name])
      const healed = await healEach((id) => lab.heal([id]), found)
      if (healed.length === 0) return `there is no fault between ${one} and ${other}`
      return `healed ${healed.map((fault) => `${describeTarget(fault)}, ${describeFault(fault)}`).join('; ')}`
    },
  },
  promote: roleChange({
    clusters: 1,
    hasKind: true,
    canForce: true,
    label: (action) => `Promote to ${role(action)} primary …`,
    title: (action) => `promote ${action.clusters} to ${role(action)} primary`,
    consequence: ({ isForced }) =>
      isForced
        ? 'It leads from then on, also where it lacks something, and what it lacks is lost.'
        : 'It leads from then on. A primary that is alive stays one: demote that first, or let it fail over.',
    steps: async (book, action) => {
      await requireMode(book, action, 'secondary')
      const {
        clusters: [name = ''],
        kind = 'dr',
        isForced = false,
      } = action
      const token = kind === 'dr' ? await operationToken(book, name) : undefined
      await promote(book, name, kind, { token, isForced })
      book.say(`${name} is a ${role(action)} primary now`)
    },
  }),
  demote: roleChange({
    clusters: 1,
    hasKind: true,
    label: (action) => `Demote from ${role(action)} primary …`,
    title: (action) => `demote ${action.clusters} from ${role(action)} primary to secondary`,
    consequence: () => 'It accepts no more writes, and has no primary until it is told one.',
    steps: async (book, action) => {
      await requireMode(book, action, 'primary')
      const {
        clusters: [name = ''],
        kind = 'dr',
      } = action
      await demote(book, name, kind)
      book.say(`${name} is a ${role(action)} secondary now and follows nobody`)
    },
  }),
  failover: roleChange({
    clusters: 2,
    canForce: true,
    label: ({ clusters: [lost] }) => `Fail over from ${lost} …`,
    title: ({ clusters }) => `fail over from ${clusters.join(' to ')}`,
    line: ({ clusters, isForced }) => `failover ${clusters.join(' ')}${isForced ? ' --force' : ''}`,
    consequence: ({ clusters: [lost, to], isForced }) =>
      isForced
        ? `${to} leads from then on, also where it lacks something, and ${lost} is left as it is: where that is alive there are two primaries.`
        : `${to} leads from then on. ${lost} is demoted first when it is alive, so that nothing is lost.`,
    steps: async (book, { clusters: [lost = '', to = ''], isForced = false }) => {
      await failOver(book, { lost, to, isForced })
    },
  }),
  switchover: roleChange({
    clusters: 2,
    label: ({ clusters: [from] }) => `Change places with ${from} …`,
    title: ({ clusters }) => `let ${clusters.join(' and ')} change places`,
    line: ({ clusters }) => `switchover ${clusters.join(' ')}`,
    consequence: ({ clusters: [from, to] }) => `${to} leads and ${from} follows from then on; nothing is lost.`,
    steps: (book, { clusters: [from = '', to = ''] }) => switchOver(book, from, to),
  }),
  rejoin: roleChange({
    clusters: 2,
    label: ({ clusters: [, primary] }) => `Follow ${primary} …`,
    title: ({ clusters }) => `let ${clusters.join(' follow ')}`,
    line: ({ clusters }) => `rejoin ${clusters.join(' ')}`,
    consequence: ({ clusters: [name, primary] }) => `What ${name} has and ${primary} lacks is lost.`,
    steps: (book, { clusters: [name = '', primary = ''] }) => rejoin(book, name, primary),
  }),
  'step-down': roleChange({
    clusters: 1,
    needs: 'nodes',
    label: () => 'Hand over …',
    title: ({ clusters }) => `let another node of ${clusters} become active`,
    consequence: () => 'The active node hands over and is a standby from then on. Requests wait for a moment.',
    steps: async (book, { clusters: [cluster = ''] }) => {
      await book.call({ cluster, method: 'PUT', path: 'sys/step-down', isAuthenticated: true })
      book.say(`the active node of ${cluster} hands over`)
    },
  }),
  drill: {
    clusters: 0,
    needs: 'nothing',
    asks: 'drill',
    isDestructive: true,
    isAlone: true,
    canBeStopped: true,
    label: () => 'Run a drill …',
    title: (action) => `run the drill ${action.name}`,
    // Without a name, the command would start a new lab.
    line: (action, lab) => `drill run ${named(action)}${lab === 'default' ? ' --name default' : ''}`,
    consequence: () => 'It is played on this lab, which stays as the drill leaves it; a reset brings it back.',
    lines: ({ name = '' }, lab) => stepsOf(findDrill(name, lab)).map(describeStep),
    run: ({ name = '' }, context) => playDrill(findDrill(name, context.lab), context),
  },
  save: {
    clusters: 0,
    needs: 'snapshots',
    asks: 'new-snapshot',
    isAlone: true,
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
    clusters: 0,
    needs: 'snapshots',
    asks: 'snapshot',
    isDestructive: true,
    isAlone: true,
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
    clusters: 0,
    needs: 'snapshots',
    isDestructive: true,
    isAlone: true,
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
  for (const name of action.clusters) lab.cluster(name)
  const { steps, lines } = ACTIONS[action.verb]
  if (!steps) return lines?.(action, lab) ?? []
  await lab.followActiveNodes()
  const calls: string[] = []
  await steps(runbookOf(lab, { say: () => undefined, call: (line) => void calls.push(line) }, true), action)
  return calls
}
