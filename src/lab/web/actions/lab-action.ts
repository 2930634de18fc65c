import { describeFault, describeTarget } from '../../daemon/active-fault.js'
import { workOnServers } from '../../lifecycle/servers.js'
import type { LiveLab } from '../../live/live-lab.js'
import { type AnyLab, type AttachedServer, hasDaemon, isAttached, serversIn } from '../../model/cluster.js'
import { KIND_WORDS } from '../../model/kinds.js'
import type { ServerVerb } from '../../model/server-verbs.js'
import type { Runbook } from '../../operations/runbook.js'
import { claimLab } from '../../processes/claim.js'
import type { LabHost } from '../../processes/lab-host.js'
import type { LinkFault } from '../../proxy/link-faults.js'
import type { PageAction, AvailableAction, PagePlanStep } from '../page-facts.js'
import type { PageDrill } from '../page-job.js'

/** Timeout of each wait in milliseconds, as on the command line. */
export const TIMEOUT_MS = 30_000
/** Options of the operations that the page runs. */
export const FOR_PAGE = { timeoutMs: TIMEOUT_MS, reader: 'page' } as const
export interface Progress {
  say(text: string): void
  /** Receives a shell command equivalent to a request. */
  call(line: string): void
  show(drill: PageDrill): void
}

export interface ActionContext {
  readonly lab: LiveLab
  readonly host: LabHost
  readonly progress: Progress
  readonly signal: AbortSignal
  /** The equivalent shell command. */
  readonly command: string | null
}

/** An action of the page, which runs the code of a command. `needs`: the requirement that a lab must meet. */
export interface LabAction extends Pick<AvailableAction, 'asks' | 'verb'> {
  /** The words after the verb in the list of actions, which distinguish actions with the same verb. */
  readonly object?: (action: PageAction) => string
  readonly canForce?: true
  readonly canAcceptLoss?: true
  /** Number of clusters that the action requires. */
  readonly clusters: 0 | 1 | 2
  readonly hasKind?: true
  /** True if the action requires confirmation, because it loses data, interrupts service or changes roles. */
  readonly isDestructive?: true
  /** True if the action cannot run concurrently with another action that has this property. */
  readonly isAlone?: true
  readonly canBeStopped?: true
  readonly needs: keyof typeof LABS
  readonly title: (action: PageAction) => string
  /** Arguments after the program name. Absent if only API requests are equivalent. */
  readonly line?: (action: PageAction, lab: string) => string
  readonly consequence: (action: PageAction) => string
  /** Sends the requests of a role change. The page shows its dry run first. `plan`: the steps of any other action. */
  readonly steps?: (book: Runbook, action: PageAction) => Promise<void>
  readonly plan?: (action: PageAction, lab: LiveLab) => readonly PagePlanStep[]
  /** Returns the result. Rejects with the error of the equivalent command. */
  readonly run: (action: PageAction, context: ActionContext) => Promise<string>
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const role = ({ kind = 'dr' }: PageAction): string => KIND_WORDS[kind]

const hasNodes = (lab: AnyLab): boolean => lab.clusters.some(({ nodes }) => nodes)
/** Whether the lab can start its servers: of an attached lab, only containers can be started. */
const ownsServers = (lab: AnyLab): boolean =>
  !isAttached(lab) ||
  lab.clusters.flatMap((cluster) => serversIn<AttachedServer>(cluster)).every(({ container }) => container)

/** The requirements of actions, each with the check whether a lab meets it. */
export const LABS = {
  nothing: () => true,
  nodes: hasNodes,
  servers: ownsServers,
  /** A process that runs several clusters cannot be suspended for one of them. */
  processes: (lab: AnyLab) => ownsServers(lab) && (isAttached(lab) || !lab.isInProcess),
  links: hasDaemon,
  /** Snapshots do not include data that nodes share. */
  snapshots: (lab: AnyLab) => !isAttached(lab) && !hasNodes(lab),
} as const satisfies Readonly<Record<string, (lab: AnyLab) => boolean>>

/** Runs work that reports its progress as messages. Resolves to the last message, as the result of the action. */
const lastOf = async ({ say }: Progress, work: (say: (text: string) => void) => Promise<void>): Promise<string> => {
  let last = ''
  await work((text) => {
    last = text
    say(text)
  })
  return last
}

/** Returns an action that runs the command `name` on one cluster or node. */
export const server = (name: ServerVerb, needs: LabAction['needs'], consequence: string): LabAction => ({
  clusters: 1,
  needs,
  verb: capitalized(name),
  consequence: () => consequence,
  title: ({ clusters }) => `${name} ${clusters}`,
  line: ({ clusters }) => `${name} ${clusters}`,
  run: ({ clusters }, { lab, host, progress }) =>
    lastOf(progress, (onProgress) =>
      workOnServers(lab.name, name, clusters, { timeoutMs: TIMEOUT_MS, onProgress }, host),
    ),
})

/** Returns an action on a server that interrupts its service. */
export const interruption = (...args: Parameters<typeof server>): LabAction => ({
  ...server(...args),
  isDestructive: true,
})

type RoleChange = Omit<LabAction, 'run' | 'needs'> &
  Required<Pick<LabAction, 'steps'>> &
  Partial<Pick<LabAction, 'needs'>>

/**
 * Returns an action that changes roles through API requests only. No other operation on the lab can run at the same
 * time.
 */
export const roleChange = (change: RoleChange): LabAction => ({
  needs: 'nothing',
  isDestructive: true,
  isAlone: true,
  ...change,
  run: async (action, { lab, host, progress }) => {
    using _claim = claimLab(lab.name, 'operated', host)
    return await lastOf(progress, async (say) => {
      await lab.followActiveNodes()
      await change.steps(lab.runbook({ ...FOR_PAGE, onProgress: say, onCall: progress.call }), action)
    })
  },
})

/** Returns the part of an action that sets a fault on a link. */
export const linkFault = (make: (action: PageAction) => LinkFault): Pick<LabAction, 'clusters' | 'needs' | 'run'> => ({
  clusters: 2,
  needs: 'links',
  run: async (action, { lab }) => {
    const [one = '', other = ''] = action.clusters
    const set = await lab.setFault({ between: [one, other], isOneWay: false, fault: make(action) })
    return `fault ${set.id}: ${describeTarget(set)}, ${describeFault(set)}`
  },
})
