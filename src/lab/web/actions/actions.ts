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
import type { PageAction, PagePlan, PagePlanStep, PageVerb } from '../page-facts.js'
import { findDrill, playDrill, stepsOf } from './drill-job.js'
import {
  FOR_PAGE,
  interruption,
  type LabAction,
  linkFault,
  role,
  roleChange,
  server,
  TIMEOUT_MS,
} from './lab-action.js'

const named = ({ name = '' }: PageAction): string => shellWord(name)

export const ACTIONS: Readonly<Record<PageVerb, LabAction>> = {
  start: server('start', 'servers', 'The server starts with its data and is unsealed.'),
  stop: interruption(
    'stop',
    'servers',
    'The server shuts down cleanly and keeps its data. Requests fail until it is started.',
  ),
  crash: interruption('crash', 'servers', 'The server is killed without a shutdown. Its data on disk is kept.'),
  pause: interruption(
    'pause',
    'processes',
    'The process is suspended: connections stay open, and requests get no response.',
  ),
  resume: server('resume', 'processes', 'The suspended process continues.'),
  seal: interruption('seal', 'nothing', 'The server discards its keys and rejects requests until it is unsealed.'),
  unseal: server('unseal', 'nothing', 'The server is unsealed with the key shares of the lab.'),
  cut: {
    ...linkFault(() => ({ name: 'partition' })),
    verb: 'Cut',
    title: ({ clusters }) => `cut the link between ${clusters.join(' and ')}`,
    line: ({ clusters }) => `fault partition ${clusters.join(' ')}`,
    consequence: () => 'The link passes no traffic until it is healed.',
  },
  latency: {
    ...linkFault(({ ms = 0 }) => ({ name: 'latency', ms })),
    asks: 'ms',
    verb: 'Add latency',
    title: ({ clusters, ms }) => `add ${ms} ms of latency to the link between ${clusters.join(' and ')}`,
    line: ({ clusters, ms }) => `fault latency ${clusters.join(' ')} ${ms}ms`,
    consequence: () => 'All traffic of the link is delayed until the link is healed.',
  },
  heal: {
    clusters: 2,
    needs: 'links',
    verb: 'Heal',
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
    verb: 'Promote',
    object: (action) => `to ${role(action)} primary`,
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
      book.say(`${name} is now a ${role(action)} primary`)
    },
  }),
  demote: roleChange({
    clusters: 1,
    hasKind: true,
    verb: 'Demote',
    object: (action) => `from ${role(action)} primary`,
    title: (action) => `demote ${action.clusters} from ${role(action)} primary to secondary`,
    consequence: () => 'The cluster rejects writes. It has no primary until you make it follow another cluster.',
    steps: async (book, action) => {
      const [name = ''] = action.clusters
      const { kind = 'dr' } = action
      await requireMode(book, name, kind, 'primary')
      await demote(book, name, kind)
      book.say(`${name} is now a ${role(action)} secondary without a primary`)
    },
  }),
  failover: roleChange({
    clusters: 2,
    canForce: true,
    canAcceptLoss: true,
    verb: 'Fail over',
    object: ({ clusters: [, to] }) => `to ${to}`,
    title: ({ clusters: [, to] }) => `fail over to ${to}`,
    line: ({ clusters, isForced, acceptsLoss }) =>
      `failover ${clusters.join(' ')}${isForced ? ' --force' : ''}${acceptsLoss ? ' --accept-loss any' : ''}`,
    consequence: ({ clusters: [lost, to], isForced, acceptsLoss }) => {
      if (isForced)
        return `${to} becomes primary even if it lacks entries. ${lost} is not demoted: if it is running, there are two primaries.`
      const loss = acceptsLoss ? ` If ${lost} is down, entries that ${to} lacks are lost.` : ''
      return `${to} becomes primary. If ${lost} is reachable, it is demoted first, so that no data is lost.${loss}`
    },
    steps: async (book, { clusters: [lost = '', to = ''], isForced = false, acceptsLoss = false }) => {
      await failOver(book, { lost, to, isForced, acceptLoss: acceptsLoss ? 'any' : 0 })
    },
  }),
  switchover: roleChange({
    clusters: 2,
    verb: 'Switch over',
    object: ({ clusters: [, to] }) => `to ${to}`,
    title: ({ clusters: [, to] }) => `switch over to ${to}`,
    line: ({ clusters }) => `switchover ${clusters.join(' ')}`,
    consequence: ({ clusters: [from, to] }) =>
      `${to} becomes primary, and ${from} becomes its secondary. No data is lost.`,
    steps: (book, { clusters: [from = '', to = ''] }) => switchOver(book, from, to),
  }),
  rejoin: roleChange({
    clusters: 2,
    verb: 'Rejoin',
    object: ({ clusters: [, primary] }) => `as a secondary of ${primary}`,
    title: ({ clusters }) => `rejoin ${clusters.join(' as a secondary of ')}`,
    line: ({ clusters }) => `rejoin ${clusters.join(' ')}`,
    consequence: ({ clusters: [name, primary] }) => `Entries that ${name} has and ${primary} lacks are lost.`,
    steps: (book, { clusters: [name = '', primary = ''] }) => rejoin(book, name, primary),
  }),
  'step-down': roleChange({
    clusters: 1,
    needs: 'nodes',
    verb: 'Step down',
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
    verb: 'Run',
    object: () => 'a drill',
    title: (action) => `run the drill ${action.name}`,
    // With `--name`, the command uses this lab in any case. Without a name, it may start a new lab.
    line: (action, lab) => `drill run ${named(action)}${nameFlag(lab) === '' ? ` --name ${lab}` : ''}`,
    consequence: () => 'The drill runs on this lab and changes it. A reset restores the lab.',
    plan: ({ name = '' }, lab) =>
      stepsOf(findDrill(name, lab)).map((step) => ({ title: describeStep(step), command: null })),
    run: ({ name = '' }, context) => playDrill(findDrill(name, context.lab), context),
  },
  save: {
    clusters: 0,
    needs: 'snapshots',
    asks: 'new-snapshot',
    isAlone: true,
    verb: 'Save',
    object: () => 'a snapshot',
    title: (action) => `save the snapshot ${action.name}`,
    line: (action) => `snapshot save ${named(action)}`,
    consequence: () => 'Writes wait for less than a second.',
    run: async ({ name = '' }, { lab, host, signal }) => {
      const { file, pausedMs } = await saveSnapshot(
        lab.name,
        name,
        { isForced: false, existsHint: 'choose another name', signal },
        host,
      )
      return `${file}; writes waited for ${pausedMs} ms`
    },
  },
  load: {
    clusters: 0,
    needs: 'snapshots',
    asks: 'snapshot',
    isDestructive: true,
    isAlone: true,
    verb: 'Load',
    object: () => 'a snapshot',
    title: (action) => `load the snapshot ${action.name}`,
    line: (action) => `snapshot load ${named(action)}`,
    consequence: () => 'All changes since the snapshot was saved are lost.',
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
    verb: 'Reset',
    title: () => 'reset the lab',
    line: () => 'reset',
    consequence: () =>
      'The lab returns to its initial state, or to the loaded snapshot. All changes since then are lost.',
    run: async (_, { lab, host, signal }) => {
      const { savedAt } = await resetLab(lab.name, { timeoutMs: TIMEOUT_MS, signal }, host)
      return `the lab was reset to its state at ${savedAt}`
    },
  },
}

/** Returns the steps of a runbook for an action, or of a drill. Empty if the action is a single command. */
export const planSteps = async (action: PageAction, lab: LiveLab): Promise<PagePlan['steps']> => {
  for (const name of action.clusters) lab.cluster(name)
  const { steps, plan } = ACTIONS[action.verb]
  if (!steps) return plan?.(action, lab) ?? []
  await lab.followActiveNodes()
  const found: PagePlanStep[] = []
  const onStep = ({ title, command }: PagePlanStep) => void found.push({ title, command })
  await steps(lab.runbook({ ...FOR_PAGE, onProgress: () => undefined, onStep, isDryRun: true }), action)
  return found
}
