import { isOfLink } from '../../daemon/active-fault.js'
import type { LiveLab } from '../../live/live-lab.js'
import { type LabAccess, requireCluster } from '../../model/cluster.js'
import type { Kind } from '../../model/kinds.js'
import { commandIn } from '../../model/lab-directory.js'
import type { ServerVerb } from '../../model/server-verbs.js'
import { lineOf } from '../../operations/lines.js'
import type { LinkFault } from '../../proxy/link-faults.js'
import { filterPath } from '../../requests/filters.js'
import { askStatus, REPLICATION } from '../../requests/replication.js'
import { isStreaming, NO_STATUS } from '../../requests/replication-status.js'
import { PRACTICE, type ReplicationLink } from './traffic.js'

/** The location of a fault: a replication link. Server faults affect the secondary of the link. */
export interface FaultLocation extends ReplicationLink {
  /** Whether a one-way fault affects the reverse direction. */
  readonly isBackwards: boolean
}

/** Returns the shell lines of a fix. */
type Fix = (place: FaultLocation, lab: LabAccess) => readonly string[]

/** A fault that can be hidden in a lab, with a check for its presence and the texts of its solution. */
export interface HiddenFault extends Omit<FaultSolution, 'mend'> {
  readonly name: string
  /** The only kind of replication link to which the fault applies. Default: both kinds. */
  readonly kind?: Kind
  /** Whether the fault applies only to a server with a process of its own. */
  readonly needsProcess?: true
  inject(lab: LiveLab, place: FaultLocation): Promise<unknown>
  /** Whether the fault is still present. Rejects if that is unknown; callers then treat it as present. */
  isPresent(lab: LiveLab, place: FaultLocation): Promise<boolean>
  readonly mend: readonly Fix[]
}

/**
 * Texts about a hidden fault. Placeholders for the link with the fault: `{primary}`, `{secondary}`, `{kind}` and `{id}`
 * (ID of the secondary). Placeholders for the blocked direction: `{from}` and `{to}`.
 */
export interface FaultSolution {
  readonly what: string
  /** The symptom of the fault. */
  readonly seen: string
  /** The shell lines of the fix. */
  readonly mend: readonly string[]
}

const fill = (text: string, place: FaultLocation): string => {
  const [from, to] = endsOf(place)
  const parts: Readonly<Record<string, unknown>> = { ...place, from, to }
  return text.replace(/\{(\w+)\}/g, (_, part: string) => String(parts[part]))
}

/** Returns the solution of a fault, with the placeholders replaced. */
export const describeSolution = (
  { what, seen, mend }: Pick<HiddenFault, 'what' | 'seen' | 'mend'>,
  place: FaultLocation,
  lab: LabAccess,
): FaultSolution => ({
  what: fill(what, place),
  seen: fill(seen, place),
  mend: mend.flatMap((fix) => fix(place, lab)),
})

/** Returns a fix by an Understudy command. `words`: the command without program name and lab name. */
const command =
  (words: string): Fix =>
  (place, lab) => [commandIn(lab.name, fill(words, place))]

/** Returns a fix by a request to the primary. */
const atPrimary =
  (make: (place: FaultLocation) => Parameters<typeof lineOf>[0]): Fix =>
  (place, lab) => [lineOf(make(place), requireCluster(lab, place.primary))]

/** The fix that registers the secondary at its primary again, with a new activation token. */
const followAgain: Fix = ({ kind, id, primary, secondary }, lab) => {
  const line = (name: string, path: string, body: Readonly<Record<string, string>>) =>
    lineOf({ method: 'PUT', path: `${REPLICATION}/${kind}/${path}`, body }, requireCluster(lab, name))
  const generate = commandIn(lab.name, `token dr-operation ${secondary}`)
  return [
    line(primary, 'primary/secondary-token', { id }),
    ...(kind === 'dr' ? [`DR_OPERATION_TOKEN="$(${generate})"`] : []),
    line(secondary, 'secondary/update-primary', { ...(kind === 'dr' && { dr_operation_token: '' }), token: '' }),
  ]
}

const UNDERSTUDY_API = '/_understudy/v1'
const TIMEOUT_MS = 30_000
const SKEW_SECONDS = 2400
/** Minimum difference of clocks that counts as a fault. All servers of a lab use the clock of one machine. */
const SKEW_NOTICED_MS = 60_000

const endsOf = ({ primary, secondary, isBackwards }: FaultLocation): [string, string] =>
  isBackwards ? [secondary, primary] : [primary, secondary]

/** Returns a fault of the link between a primary and its secondary. */
const onLink = (fault: LinkFault, isOneWay = false): Pick<HiddenFault, 'inject' | 'isPresent' | 'mend'> => ({
  inject: (lab, place) => lab.setFault({ between: endsOf(place), isOneWay, fault, isHidden: true }),
  async isPresent(lab, place) {
    const ends = endsOf(place)
    return (await lab.faults())
      .filter(isOfLink)
      .some(({ between, fault: set }) => set.name === fault.name && ends.every((end) => between.includes(end)))
  },
  mend: [command('heal {primary} {secondary}')],
})

const healthOf = async (lab: LiveLab, name: string): Promise<Readonly<Record<string, unknown>>> => {
  const { json = {} } = await lab.anonymous(name).with({ timeoutMs: 2000 }).send('GET', 'sys/health')
  return json
}

/** Returns a fault of the secondary's server that the command `verb` injects and the command `fix` removes. */
const onServer = (
  verb: ServerVerb,
  fix: ServerVerb,
  isWrong: (sealed: unknown) => boolean,
): Pick<HiddenFault, 'inject' | 'isPresent' | 'mend'> => ({
  inject: (lab, { secondary }) => lab.work(verb, secondary, TIMEOUT_MS),
  isPresent: async (lab, { secondary }) => isWrong((await healthOf(lab, secondary)).sealed),
  mend: [command(`${fix} {secondary}`)],
})

const isNotFollowing = async (lab: LiveLab, { secondary, kind }: FaultLocation): Promise<boolean> => {
  const status = await askStatus(lab.anonymous(secondary), kind)
  return status.mode !== 'primary' && !isStreaming(status)
}

/** All hidden faults. A seed selects by position, so add new faults at the end. */
export const HIDDEN_FAULTS: readonly HiddenFault[] = [
  {
    name: 'link-cut-one-way',
    ...onLink({ name: 'partition' }, true),
    what: 'all traffic from {from} to {to} was dropped; traffic in the other direction passed',
    seen: 'the connection of {secondary} is not ready, although both clusters respond to clients',
  },
  {
    name: 'link-cut',
    ...onLink({ name: 'partition' }),
    what: 'the network between {primary} and {secondary} was partitioned',
    seen: 'the connection of {secondary} is not ready, and {primary} shows it as disconnected',
  },
  {
    name: 'link-stalled',
    ...onLink({ name: 'hold' }),
    what: 'the network between {primary} and {secondary} accepted all data and delivered none',
    seen: 'connections stay open, but no data arrives on {secondary}, until keepalive closes them',
  },
  {
    name: 'sealed-secondary',
    kind: 'performance',
    ...onServer('seal', 'unseal', (sealed) => sealed !== false),
    what: '{secondary} was sealed',
    seen: 'sys/health and sys/seal-status of {secondary} report that it is sealed; all other requests return 503',
  },
  {
    name: 'paused-server',
    needsProcess: true,
    ...onServer('pause', 'resume', (sealed) => sealed === undefined),
    what: 'the process of {secondary} was suspended (SIGSTOP)',
    seen: '{secondary} accepts connections but does not respond; its process is in state T',
  },
  {
    name: 'stopped-server',
    ...onServer('stop', 'start', (sealed) => sealed !== false),
    what: 'the server of {secondary} was stopped',
    seen: 'connections to {secondary} are refused; its log ends with a clean shutdown',
  },
  {
    name: 'skewed-clock',
    inject: (lab, { secondary }) =>
      lab.anonymous(secondary).call('POST', `${UNDERSTUDY_API}/clock`, { body: { skew: `${SKEW_SECONDS}s` } }),
    async isPresent(lab, { secondary }) {
      const { server_time_utc: seconds } = await healthOf(lab, secondary)
      return Math.abs(Number(seconds) * 1000 - lab.clock.now()) > SKEW_NOTICED_MS
    },
    what: `the clock of {secondary} was ${SKEW_SECONDS / 60} minutes ahead`,
    seen: 'server_time_utc in sys/health of {secondary} differs from the other clusters; tokens issued there expire early on other clusters',
    mend: [command('restart {secondary}')],
  },
  {
    name: 'stuck-secondary',
    inject: (lab, { secondary, kind }) =>
      lab.anonymous(secondary).call('POST', `${UNDERSTUDY_API}/states/hold`, { body: { state: 'apply', kind } }),
    async isPresent(lab, { secondary }) {
      const { json } = await lab.anonymous(secondary).send('GET', `${UNDERSTUDY_API}/states`)
      return Array.isArray(json?.states) && json.states.length > 0
    },
    what: '{secondary} received all entries and applied none',
    seen: '{secondary} streams and is connected, but its last_remote_wal does not advance and its Merkle root differs',
    mend: [command('restart {secondary}')],
  },
  {
    name: 'revoked-secondary',
    inject: async (lab, { primary, kind, id }) =>
      (await lab.root(primary)).write(`${REPLICATION}/${kind}/primary/revoke-secondary`, { id }),
    isPresent: isNotFollowing,
    what: '{primary} had revoked its {kind} secondary {id} ({secondary})',
    seen: 'known_secondaries of {primary} does not contain {id}; {secondary} is idle and its connection fails',
    mend: [followAgain],
  },
  {
    name: 'filtered-mount',
    kind: 'performance',
    inject: async (lab, { primary, id }) =>
      (await lab.root(primary)).write(filterPath(id), { mode: 'deny', paths: [`${PRACTICE}/`] }),
    async isPresent(lab, { primary, id }) {
      const { status, json } = await (await lab.root(primary)).send('GET', filterPath(id))
      return status === 200 && JSON.stringify(json?.data).includes(`${PRACTICE}/`)
    },
    what: `a path filter on {primary} excluded ${PRACTICE}/ from {secondary}`,
    seen: `{secondary} returns 404 "no handler for route" below ${PRACTICE}/, and does not list the mount`,
    mend: [atPrimary(({ id }) => ({ method: 'DELETE', path: filterPath(id) }))],
  },
  {
    name: 'forgotten-primary',
    kind: 'performance',
    inject: async (lab, { secondary }) =>
      (await lab.root(secondary)).write(`${REPLICATION}/performance/secondary/update-primary`, { token: '' }),
    isPresent: isNotFollowing,
    what: '{secondary} was detached from its primary by update-primary with an empty token',
    seen: '{secondary} is a performance secondary in state idle, and has no address of {primary}',
    mend: [
      atPrimary(({ id }) => ({
        method: 'PUT',
        path: `${REPLICATION}/performance/primary/revoke-secondary`,
        body: { id },
      })),
      followAgain,
    ],
  },
  {
    name: 'demoted-primary',
    kind: 'performance',
    inject: async (lab, { primary }) => (await lab.root(primary)).write(`${REPLICATION}/performance/primary/demote`),
    async isPresent(lab) {
      const all = await Promise.all(
        lab.clusters.map(({ name }) => askStatus(lab.anonymous(name), 'performance').catch(() => NO_STATUS)),
      )
      return !all.some(({ mode }) => mode === 'primary')
    },
    what: '{primary} was demoted, so no cluster was the performance primary',
    seen: 'every cluster rejects writes; {primary} and {secondary} both report the role secondary',
    mend: [atPrimary(() => ({ method: 'PUT', path: `${REPLICATION}/performance/secondary/promote` })), followAgain],
  },
]
