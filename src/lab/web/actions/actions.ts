import { shellWord } from '../../../base/shell.js'
import { describeStep } from '../../drills/steps/steps.js'
import { describeFault, describeTarget, healEach } from '../../daemon/active-fault.js'
import type { LiveLab } from '../../live/live-lab.js'
import { nameFlag } from '../../model/state-directory.js'
import { failOver } from '../../operations/failover.js'
import { operationTokenFor, rejoin, switchOver } from '../../operations/operations.js'
import { requireMode } from '../../operations/preflight.js'
import { demote, promote } from '../../operations/role-changes.js'
import { loadOver, resetLab } from '../../snapshot/reset.js'
import { saveSnapshot, withSnapshot } from '../../snapshot/take-image.js'
import type { PageAction, PageVerb } from '../page-facts.js'
import { findDrill, playDrill, stepsOf } from './drill-job.js'
import { ending, type LabAction, linkFault, role, roleChange, runbookOf, server, TIMEOUT_MS } from './lab-action.js'

const named = ({ name = '' }: PageAction): string => shellWord(name)

export const ACTIONS: Readonly<Record<PageVerb, LabAction>> = {
  start: server('start', 'Start', 'servers', 'The server starts with its data and is unsealed.'),
  stop: ending(
    'stop',
    'Stop …',
    'servers',
    'The server shuts down cleanly and keeps its data. Requests fail until it is started.',
  ),
  crash: ending('crash', 'Crash …', 'servers', 'The server is killed without a shutdown. Its data on disk is kept.'),
  pause: ending(
    'pause',
    'Pause …',
    'processes',
    'The process is suspended: connections stay open, and requests get no response.',
  ),
  resume: server('resume', 'Resume', 'processes', 'The suspended process continues.'),
  seal: ending('seal', 'Seal …', 'nothing', 'The server discards its keys and rejects requests until it is unsealed.'),
  unseal: server('unseal', 'Unseal', 'nothing', 'The server is unsealed with the key shares of the lab.'),
  cut: {
    ...linkFault(() => ({ name: 'partition' })),
    label: () => 'Cut',
    title: ({ clusters }) => `cut the link between ${clusters.join(' and ')}`,
    line: ({ clusters }) => `fault partition ${clusters.join(' ')}`,
    consequence: () => 'The link passes no traffic until it is healed.',
  },
  latency: {
    ...linkFault(({ ms = 0 }) => ({ name: 'latency', ms })),
    asks: 'ms',
    label: () => 'Add latency …',
    title: ({ clusters, ms }) => `add ${ms} ms of latency to the link between ${clusters.join(' and ')}`,
    line: ({ clusters, ms }) => `fault latency ${clusters.join(' ')} ${ms}ms`,
    consequence: () => 'All traffic of the link is delayed until the link is healed.',
  },
  heal: {
    clusters: 2,
    needs: 'links',
    label: () => 'Heal',
    title: ({ clusters }) => `heal the link between ${clusters.join(' and ')}`,
    line: ({ clusters }) => `heal ${clusters.join(' ')}`,
    consequence: () => 'All faults of the link are removed, including hidden ones.',
    run: async ({ clusters: [one = '', other = ''] }, { lab }) => {
      const found = await lab.faultsBetween(one, other)
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
        ? 'The cluster becomes primary even if it lacks entries. The missing entries are lost.'
        : 'The cluster becomes primary. A reachable primary also stays primary: demote it first, or fail over.',
    steps: async (book, action) => {
      const [name = ''] = action.clusters
      const { kind = 'dr', isForced = false } = action
      await requireMode(book, name, kind, 'secondary')
      await promote(book, name, kind, { token: await operationTokenFor(book, name, kind), isForced })
      book.say(`${name} is a ${role(action)} primary now`)
    },
  }),
  demote: roleChange({
    clusters: 1,
    hasKind: true,
    label: (action) => `Demote from ${role(action)} primary …`,
    title: (action) => `demote ${action.clusters} from ${role(action)} primary to secondary`,
    consequence: () => 'The cluster rejects writes. It has no primary until you make it follow another cluster.',
    steps: async (book, action) => {
      const [name = ''] = action.clusters
      const { kind = 'dr' } = action
      await requireMode(book, name, kind, 'primary')
      await demote(book, name, kind)
      book.say(`${name} is a ${role(action)} secondary now and has no primary`)
    },
  }),
  failover: roleChange({
    clusters: 2,
    canForce: true,
    canAcceptLoss: true,
    label: ({ clusters: [lost] }) => `Fail over from ${lost} …`,
    title: ({ clusters }) => `fail over from ${clusters.join(' to ')}`,
    line: ({ clusters, isForced, acceptsLoss }) =>
      `failover ${clusters.join(' ')}${isForced ? ' --force' : ''}${acceptsLoss ? ' --accept-loss any' : ''}`,
    consequence: ({ clusters: [lost, to], isForced }) =>
      isForced
        ? `${to} becomes primary even if it lacks entries. ${lost} is not demoted: if it is running, there are two primaries.`
        : `${to} becomes primary. If ${lost} is reachable, it is demoted first, so that no data is lost.`,
    steps: async (book, { clusters: [lost = '', to = ''], isForced = false, acceptsLoss = false }) => {
      await failOver(book, { lost, to, isForced, acceptLoss: acceptsLoss ? 'any' : 0 })
    },
  }),
  switchover: roleChange({
    clusters: 2,
    label: ({ clusters: [from] }) => `Switch over with ${from} …`,
    title: ({ clusters }) => `switch over from ${clusters.join(' to ')}`,
    line: ({ clusters }) => `switchover ${clusters.join(' ')}`,
    consequence: ({ clusters: [from, to] }) =>
      `${to} becomes primary, and ${from} becomes its secondary. No data is lost.`,
    steps: (book, { clusters: [from = '', to = ''] }) => switchOver(book, from, to),
  }),
  rejoin: roleChange({
    clusters: 2,
    label: ({ clusters: [, primary] }) => `Follow ${primary} …`,
    title: ({ clusters }) => `make ${clusters.join(' follow ')}`,
    line: ({ clusters }) => `rejoin ${clusters.join(' ')}`,
    consequence: ({ clusters: [name, primary] }) => `Entries that ${name} has and ${primary} lacks are lost.`,
    steps: (book, { clusters: [name = '', primary = ''] }) => rejoin(book, name, primary),
  }),
  'step-down': roleChange({
    clusters: 1,
    needs: 'nodes',
    label: () => 'Step down …',
    title: ({ clusters }) => `make the active node of ${clusters} step down`,
    consequence: () =>
      'The active node becomes a standby, and another node becomes active. Requests wait for a moment.',
    steps: async (book, { clusters: [cluster = ''] }) => {
      await book.call({ cluster, method: 'PUT', path: 'sys/step-down', isAuthenticated: true })
      book.say(`the active node of ${cluster} steps down`)
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
    // Without a name, the command would start a new lab if this one does not fit.
    line: (action, lab) => `drill run ${named(action)}${nameFlag(lab) === '' ? ` --name ${lab}` : ''}`,
    consequence: () => 'The drill runs on this lab and changes it. A reset restores the lab.',
    lines: ({ name = '' }, lab) => stepsOf(findDrill(name, lab)).map(describeStep),
    run: ({ name = '' }, context) => playDrill(findDrill(name, context.lab), context),
  },
  save: {
    clusters: 0,
    needs: 'snapshots',
    asks: 'new-snapshot',
    isAlone: true,
    label: () => 'Save a snapshot …',
    title: (action) => `save the snapshot ${action.name}`,
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
    label: () => 'Load a snapshot …',
    title: (action) => `load the snapshot ${action.name}`,
    line: (action) => `snapshot load ${named(action)}`,
    consequence: () => 'All later changes of the lab are lost.',
    run: ({ name = '' }, { lab, host, signal }) =>
      withSnapshot(name, host, async (image) => {
        await loadOver(lab.name, image, { timeoutMs: TIMEOUT_MS, signal }, host)
        return `the lab was restored to its state at ${image.manifest.savedAt}`
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
    consequence: () => 'The lab returns to its initial state, or to the loaded snapshot. All later changes are lost.',
    run: async (_, { lab, host, signal }) => {
      const { savedAt } = await resetLab(lab.name, { timeoutMs: TIMEOUT_MS, signal }, host)
      return `the lab was reset to its state at ${savedAt}`
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
