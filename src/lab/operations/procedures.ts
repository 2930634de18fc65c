import { systemClock } from '../../base/clock.js'
import type { ClusterAccess } from '../model/cluster.js'
import { KIND_WORDS, type Kind, KINDS } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { REPLICATION } from '../requests/replication.js'
import { flagsOf, vaultWithToken } from './lines.js'
import { failOver } from './failover.js'
import { rejoin, switchOver } from './operations.js'
import { checkMachine, checkUp, notePosition } from './procedure-checks.js'
import { describeCheck, describeChecks, type ProcedureStep } from './procedure-steps.js'
import { promoteCluster } from './promotion.js'
import { activate, promote } from './role-changes.js'
import { Runbook } from './runbook.js'
import { numberSteps, type OperationName, valuesOf, type WrittenRunbook } from './written-runbook.js'

/**
 * Writes runbooks of operations. The steps come from a dry run of the operation, which assumes the roles of the
 * clusters. Steps that check these roles come first.
 */

/** The state of a cluster before an operation. */
interface InitialState {
  /** The mode that the dry run assumes. `-`: the cluster does not respond. */
  readonly mode: string
  /** The kinds of replication in which the cluster accepts a root token in this mode. */
  readonly tokenKinds: readonly Kind[]
  readonly checks: (at: ClusterAccess, kind: Kind) => readonly ProcedureStep[]
}

const withRole = (mode: string): InitialState => ({
  mode,
  tokenKinds: mode === 'secondary' ? ['performance'] : KINDS,
  checks: (at, kind) =>
    describeChecks(`Check the role of ${at.name}`, { cluster: at.name, kind, field: 'mode', value: mode }, () => at),
})

/** A cluster that is not a secondary. The operation makes it a primary if its replication is disabled. */
const POSSIBLE_PRIMARY: InitialState = {
  mode: 'disabled',
  tokenKinds: KINDS,
  checks: (at, kind) => {
    const mode = `mode="$(vault read ${flagsOf(at)} -field=mode ${REPLICATION}/${kind}/status)"`
    const command = `${mode} && case "$mode" in primary | disabled) echo yes ;; *) echo "$mode" ;; esac`
    return [describeCheck(at.name, `Check that ${at.name} can be a primary`, { command, answer: 'yes' })]
  },
}

const DOWN: InitialState = {
  mode: '-',
  tokenKinds: [],
  checks: (at) => [checkUp(at, `Check that ${at.name} is down`, 'down')],
}

/** A secondary whose primary is down. */
const SURVIVOR: InitialState = {
  ...withRole('secondary'),
  checks: (at, kind) => [...withRole('secondary').checks(at, kind), notePosition(at, kind)],
}

/** A former primary. An operator may have demoted it already, and a demoted DR primary accepts no token. */
const FORMER: InitialState = {
  mode: 'primary',
  tokenKinds: ['performance'],
  checks: (at) => [checkUp(at, `Check that ${at.name} is running and unsealed`, 'up')],
}

interface Procedure {
  readonly title: (one: string, other: string) => string
  /** The default kind of replication. */
  readonly kind: Kind
  readonly starts: readonly [InitialState, InitialState]
  readonly run: (book: Runbook, one: string, other: string, kind: Kind) => Promise<unknown>
  /** Tasks of the operator after the last step. */
  readonly after: (one: string, other: string, kind: Kind) => readonly string[]
}

/** Exchanges the roles of a healthy primary and its secondary, with the operation of the kind. */
const exchange = (book: Runbook, primary: string, secondary: string, kind: Kind): Promise<void> =>
  kind === 'dr' ? switchOver(book, primary, secondary) : promoteCluster(book, secondary, kind, false)

/** Returns the tasks after an exchange of roles. The runbook does not know the other performance secondaries. */
const afterExchange = (former: string, primary: string, kind: Kind): readonly string[] =>
  kind === 'dr'
    ? [sendClientsTo(primary)]
    : [
        `Clients of ${former} can stay: ${former} forwards their writes to ${primary}.`,
        `Make each other performance secondary of ${former} a secondary of ${primary}, with the runbook "rejoin".`,
      ]

const sendClientsTo = (name: string): string => `Send the clients to ${name}: change DNS or the load balancer.`

const PROCEDURES: Readonly<Record<OperationName, Procedure>> = {
  failover: {
    title: (lost, to) => `Fail over from ${lost}, which is down, to ${to}`,
    kind: 'dr',
    starts: [DOWN, SURVIVOR],
    run: (book, lost, to, kind) =>
      kind === 'dr'
        ? failOver(book, { lost, to, isForced: false, acceptLoss: 'any' })
        : promote(book, to, kind, { isForced: false }),
    after: (lost, to) => [
      sendClientsTo(to),
      `Keep clients away from ${lost}. When ${lost} is available again, make it a secondary of ${to}.`,
    ],
  },
  switchover: {
    title: (primary, secondary) => `Switch over from ${primary} to ${secondary}`,
    kind: 'dr',
    starts: [withRole('primary'), withRole('secondary')],
    run: exchange,
    after: afterExchange,
  },
  failback: {
    title: (former, primary) => `Fail back from ${primary} to ${former}`,
    kind: 'dr',
    starts: [FORMER, withRole('primary')],
    run: async (book, former, primary, kind) => {
      await rejoin(book, former, primary, kind)
      book.assume(former, kind, 'secondary')
      await exchange(book, primary, former, kind)
    },
    after: (former, primary, kind) => afterExchange(primary, former, kind),
  },
  rejoin: {
    title: (former, primary) => `Make the former primary ${former} a secondary of ${primary}`,
    kind: 'dr',
    starts: [FORMER, withRole('primary')],
    run: rejoin,
    after: (former) => [`Writes that only ${former} had are discarded. Restore what you need from its snapshot.`],
  },
  activate: {
    title: (primary, secondary) => `Make ${secondary} a secondary of ${primary}`,
    kind: 'performance',
    starts: [POSSIBLE_PRIMARY, withRole('disabled')],
    run: activate,
    after: (_, secondary) => [`The tokens that ${secondary} issued before are invalid. Its key shares are replaced.`],
  },
}

interface RunbookRequest {
  readonly operation: OperationName
  readonly kind: Kind | undefined
  /** The two clusters, in the order of the arguments of the command. */
  readonly names: readonly [string, string]
  readonly clusters: readonly ClusterAccess[]
  /** The name of the lab or the addresses file, for messages. */
  readonly source: string
}

/** Writes a runbook without requests to servers. Rejects with LabError `usage` if a cluster is unknown. */
export const writeRunbook = async (request: RunbookRequest): Promise<WrittenRunbook> => {
  const { operation, names, clusters, source } = request
  const { title, starts, run, after, ...given } = PROCEDURES[operation]
  const { kind = given.kind } = request
  const [one, other] = names
  const chosen = names.map((name, at) => ({ cluster: requireNamed(request, name), start: starts[at] ?? DOWN }))
  const steps: ProcedureStep[] = []
  const book = new Runbook(
    { name: source, clusters },
    {
      clock: systemClock,
      timeoutMs: 0,
      onProgress: () => undefined,
      onStep: (step) => void steps.push(step),
      isWritten: true,
      rootTokenOf: async () => '',
    },
  )
  book.requireTwo(one, other)
  for (const { cluster, start } of chosen) book.assume(cluster.name, kind, start.mode)
  await run(book, one, other, kind)
  const ours = chosen.map(({ cluster }) => cluster)
  const checks = chosen.flatMap(({ cluster, start }) => [
    ...start.checks(cluster, kind),
    ...(start.tokenKinds.includes(kind) ? checkToken(cluster, steps) : []),
  ])
  const numbered = numberSteps([checkMachine(one, ours), ...checks, ...steps])
  return {
    apiVersion: 'understudy/v1',
    kind: 'Runbook',
    operation,
    replication: kind,
    title: `${title(one, other)} (${KIND_WORDS[kind]} replication)`,
    clusters: chosen.map(({ cluster: { name, apiAddress, caFile = '', written } }) => {
      const { clusterAddress = '', namespace = '' } = written ?? {}
      return { name, apiAddress, clusterAddress, caFile, namespace }
    }),
    values: valuesOf(numbered, ours),
    steps: numbered,
    after: after(one, other, kind),
  }
}

const requireNamed = ({ clusters, source }: RunbookRequest, name: string): ClusterAccess => {
  const found = clusters.find((cluster) => cluster.name === name)
  if (found) return found
  const names = clusters.map((cluster) => cluster.name).join(', ')
  throw new LabError('usage', `${source} has no cluster "${name}"; it has ${names}`)
}

/** Returns a step that checks the token of a cluster, if another step uses this token. */
const checkToken = (at: ClusterAccess, steps: readonly ProcedureStep[]): readonly ProcedureStep[] => {
  if (!steps.some(({ command }) => command.includes(vaultWithToken(at)))) return []
  const command = `${vaultWithToken(at)} token lookup ${flagsOf(at)} > /dev/null && echo valid`
  return [describeCheck(at.name, `Check the token of ${at.name}`, { command, answer: 'valid' })]
}
