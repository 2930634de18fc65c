import { shellWord } from '../../../base/shell.js'
import { KIND_WORDS } from '../../model/kinds.js'
import { commandIn } from '../../model/lab-directory.js'
import type { PageAction, PageVerb } from '../page-facts.js'

/** The parameters and labels of a verb. */
interface VerbWords {
  /** Number of clusters that it takes. */
  readonly clusters: 0 | 1 | 2
  readonly needs?: readonly ('kind' | 'ms' | 'name')[]
  /** It loses data, or stops something permanently, so it requires confirmation. */
  readonly isDestructive?: true
  /** It cannot run concurrently with another action of this kind. */
  readonly isAlone?: true
  readonly canBeStopped?: true
  readonly title: (action: PageAction) => string
  /** Arguments after the program name. Absent if only API requests are equivalent. */
  readonly line?: (action: PageAction, lab: string) => string
  readonly consequence: (action: PageAction) => string
}

const one = ({ clusters: [name = ''] }: PageAction): string => name
const other = ({ clusters: [, name = ''] }: PageAction): string => name
const both = ({ clusters }: PageAction, between: string): string => clusters.join(between)
const role = ({ kind = 'dr' }: PageAction): string => KIND_WORDS[kind]
const force = ({ isForced }: PageAction): string => (isForced ? ' --force' : '')
const named = ({ name = '' }: PageAction): string => shellWord(name)

const server = (verb: PageVerb, consequence: string): VerbWords => ({
  clusters: 1,
  title: (action) => `${verb} ${one(action)}`,
  line: (action) => `${verb} ${one(action)}`,
  consequence: () => consequence,
})
const destructive = <T extends VerbWords>(words: T): T & { readonly isDestructive: true } => ({
  ...words,
  isDestructive: true,
})

export const VERBS: Readonly<Record<PageVerb, VerbWords>> = {
  start: server('start', 'It runs again on its data and is unsealed.'),
  stop: destructive(server('stop', 'It ends in order; its data stays. Clients get no answer until it is started.')),
  crash: destructive(server('crash', 'It is killed in the middle of what it does. Its data stays as it is then.')),
  pause: destructive(server('pause', 'It is frozen: connections stay open, and nothing answers.')),
  resume: server('resume', 'It goes on where it was frozen.'),
  seal: destructive(server('seal', 'It forgets its keys and serves no client until it is unsealed.')),
  unseal: server('unseal', 'The keys that the lab holds open it.'),
  cut: {
    clusters: 2,
    title: (action) => `cut the link between ${both(action, ' and ')}`,
    line: (action) => `fault partition ${both(action, ' ')}`,
    consequence: () => 'Nothing passes until it is healed.',
  },
  latency: {
    clusters: 2,
    needs: ['ms'],
    title: (action) => `delay the link between ${both(action, ' and ')} by ${action.ms} ms`,
    line: (action) => `fault latency ${both(action, ' ')} ${action.ms}ms`,
    consequence: () => 'All that passes comes so much later, until it is healed.',
  },
  heal: {
    clusters: 2,
    title: (action) => `heal the link between ${both(action, ' and ')}`,
    line: (action) => `heal ${both(action, ' ')}`,
    consequence: () => 'Every fault of the link ends, hidden ones as well.',
  },
  promote: destructive({
    clusters: 1,
    needs: ['kind'],
    title: (action) => `promote ${one(action)} to ${role(action)} primary`,
    consequence: (action) =>
      action.isForced
        ? 'It leads from then on, also where it lacks something, and what it lacks is lost.'
        : 'It leads from then on. A primary that is alive stays one: demote that first, or let it fail over.',
  }),
  demote: destructive({
    clusters: 1,
    needs: ['kind'],
    title: (action) => `demote ${one(action)} from ${role(action)} primary to secondary`,
    consequence: () => 'It accepts no more writes, and has no primary until it is told one.',
  }),
  failover: destructive({
    clusters: 2,
    title: (action) => `fail over from ${both(action, ' to ')}`,
    line: (action) => `failover ${both(action, ' ')}${force(action)}`,
    consequence: (action) =>
      action.isForced
        ? `${other(action)} leads from then on, also where it lacks something, and ${one(action)} is left as it is: where that is alive there are two primaries.`
        : `${other(action)} leads from then on. ${one(action)} is demoted first when it is alive, so that nothing is lost.`,
  }),
  switchover: destructive({
    clusters: 2,
    title: (action) => `let ${both(action, ' and ')} change places`,
    line: (action) => `switchover ${both(action, ' ')}`,
    consequence: (action) => `${other(action)} leads and ${one(action)} follows from then on; nothing is lost.`,
  }),
  rejoin: destructive({
    clusters: 2,
    title: (action) => `let ${both(action, ' follow ')}`,
    line: (action) => `rejoin ${both(action, ' ')}`,
    consequence: (action) => `What ${one(action)} has and ${other(action)} lacks is lost.`,
  }),
  'step-down': destructive({
    clusters: 1,
    title: (action) => `let another node of ${one(action)} become active`,
    consequence: () => 'The active node hands over and is a standby from then on. Requests wait for a moment.',
  }),
  drill: destructive({
    clusters: 0,
    needs: ['name'],
    isAlone: true,
    canBeStopped: true,
    title: (action) => `run the drill ${action.name}`,
    // Without a name, the command would start a new lab.
    line: (action, lab) => `drill run ${named(action)}${lab === 'default' ? ' --name default' : ''}`,
    consequence: () => 'It is played on this lab, which stays as the drill leaves it; a reset brings it back.',
  }),
  save: {
    clusters: 0,
    needs: ['name'],
    isAlone: true,
    title: (action) => `keep the lab as the snapshot ${action.name}`,
    line: (action) => `snapshot save ${named(action)}`,
    consequence: () => 'Writes wait for less than a second.',
  },
  load: destructive({
    clusters: 0,
    needs: ['name'],
    isAlone: true,
    title: (action) => `bring the lab back to the snapshot ${action.name}`,
    line: (action) => `snapshot load ${named(action)}`,
    consequence: () => 'All that happened to the lab since then is lost.',
  }),
  reset: destructive({
    clusters: 0,
    isAlone: true,
    title: () => 'reset the lab',
    line: () => 'reset',
    consequence: () => 'The lab is as it was right after it came up, or was loaded; all that happened since is lost.',
  }),
}

/** Returns the equivalent shell command. Null if there is none. */
export const commandOf = (action: PageAction, lab: string): string | null => {
  const { line } = VERBS[action.verb]
  return line ? commandIn(lab, line(action, lab)) : null
}
