import type { ClusterAccess } from '../model/cluster.js'
import { KIND_WORDS, type Kind } from '../model/kinds.js'
import { OPERATION_TOKEN, REPLICATION } from '../requests/replication.js'
import { decodingLine, flagsOf, otpLine, stepLineOf, type Target } from './lines.js'

/** A command with the output that it must print. */
interface Expected {
  readonly command: string
  readonly answer: string
}

/** A step of a written runbook: one command line, with its expected result and the way back. */
export interface ProcedureStep {
  readonly title: string
  readonly cluster: string
  readonly command: string
  /** What the operator sees if the step succeeds. */
  readonly expect: string
  /** The exact output of a check. */
  readonly answer?: string
  /** Whether the operator repeats the check until it prints the answer. */
  readonly isRepeated?: boolean
  /** The operator skips the step unless this command prints this output. */
  readonly onlyIf?: Expected
  /** How to undo the step, and the command if one command is enough. */
  readonly back?: string
  readonly backCommand?: string
}

/** A condition that an operator can check: a field of the replication status, or a complete copy of a primary. */
export type Check = { readonly cluster: string; readonly kind: Kind } & (
  | { readonly field: 'mode' | 'state'; readonly value: string }
  | { readonly primary: string }
)

const fieldLine = (target: Target, kind: Kind, field: string): string =>
  `vault read ${flagsOf(target)} -field=${field} ${REPLICATION}/${kind}/status`

export const describeCheck = (cluster: string, title: string, { command, answer }: Expected): ProcedureStep => ({
  title,
  cluster,
  command,
  answer,
  expect: `The output is \`${answer}\`.`,
})

/** Returns the steps that check a condition. `find` returns a cluster by name. */
export const describeChecks = (
  title: string,
  check: Check,
  find: (name: string) => ClusterAccess,
): readonly ProcedureStep[] => {
  const { cluster, kind } = check
  const at = find(cluster)
  const make = (about: string, field: string, answer: string) =>
    describeCheck(cluster, about, { command: fieldLine(at, kind, field), answer })
  if ('field' in check) return [make(title, check.field, check.value)]
  const primary = find(check.primary)
  const address = primary.written?.clusterAddress ?? ''
  const [own, original] = [at, primary].map((each) => `"$(${fieldLine(each, kind, 'merkle_root')})"`)
  const compare = { command: `root=${own} && [ "$root" = ${original} ] && echo equal`, answer: 'equal' }
  return [
    make(title, 'state', 'stream-wals'),
    ...(address === ''
      ? []
      : [make(`Check that ${cluster} uses the cluster address of ${primary.name}`, 'primary_cluster_addr', address)]),
    // A path filter of a performance secondary changes its Merkle root.
    ...(kind === 'dr' ? [describeCheck(cluster, `Compare the data of ${primary.name} and ${cluster}`, compare)] : []),
  ]
}

interface Request {
  readonly cluster: string
  readonly method: string
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly isAuthenticated?: boolean
}

/** Facts about a request: its cluster, the kind of replication in the path, and its body. */
interface Facts {
  readonly name: string
  readonly kind: Kind
  readonly at: ClusterAccess
  readonly body: Readonly<Record<string, unknown>>
}

type Text = Omit<ProcedureStep, 'cluster' | 'command'>

/**
 * Returns the shell command that sends a request to `path` below `sys/replication/<kind>/` of the cluster in `facts`.
 */
const lineFor = ({ kind, at }: Facts, path: string, body?: Facts['body']): string =>
  stepLineOf(
    {
      method: 'PUT',
      path: `${REPLICATION}/${kind}/${path}`,
      body,
      isAuthenticated: kind === 'performance' || path.startsWith('primary/'),
    },
    at,
  )

/** Returns the body of a request to a secondary: for DR, an operation token replaces the root token. */
const bodyFor = ({ kind }: Facts): Facts['body'] => (kind === 'dr' ? { dr_operation_token: '' } : {})

/** The texts of requests in written runbooks, by the path below `sys/replication/<kind>/`. */
const TEXTS: Readonly<Record<string, (facts: Facts) => Text>> = {
  'secondary/generate-operation-token/attempt': ({ name, at }) => ({
    title: `Start the generation of a DR operation token on ${name}`,
    expect: '`NONCE` is a UUID. Each key holder submits a share only for this nonce.',
    back: 'Cancel the generation. Also cancel it if an earlier run left it in progress, so that this step fails.',
    backCommand: stepLineOf({ method: 'DELETE', path: `${OPERATION_TOKEN}/attempt` }, at),
  }),
  'secondary/generate-operation-token/update': ({ name, at, body }) => ({
    title: `Submit ${body.key} on ${name}`,
    expect: 'The exit status is 0. `ENCODED_TOKEN` is empty until the last share, and then has a value.',
    back: 'Cancel the generation. A rejected share also requires this, and a new start of the generation.',
    backCommand: stepLineOf({ method: 'DELETE', path: `${OPERATION_TOKEN}/attempt` }, at),
  }),
  'secondary/promote': (facts) => ({
    title: `Promote ${facts.name} to ${KIND_WORDS[facts.kind]} primary`,
    expect: 'A warning that contains "This cluster is being promoted to a replication primary".',
    back: `Demote ${facts.name}. Writes that it has accepted since are lost if another cluster is promoted.`,
    backCommand: lineFor(facts, 'primary/demote'),
  }),
  'primary/enable': (facts) => ({
    title: `Make ${facts.name} a ${KIND_WORDS[facts.kind]} primary`,
    expect: 'A warning that contains "This cluster is being enabled as a primary".',
    onlyIf: { command: fieldLine(facts.at, facts.kind, 'mode'), answer: 'disabled' },
    back: `Disable replication on ${facts.name}.`,
    backCommand: lineFor(facts, 'primary/disable'),
  }),
  'primary/demote': (facts) => ({
    title: `Demote ${facts.name}`,
    expect: 'A warning that contains "This cluster is being demoted to a replication secondary".',
    onlyIf: { command: fieldLine(facts.at, facts.kind, 'mode'), answer: 'primary' },
    back: `Promote ${facts.name} again${facts.kind === 'dr' ? `, with a DR operation token that is generated on ${facts.name}` : ''}.`,
    backCommand: lineFor(facts, 'secondary/promote', bodyFor(facts)),
  }),
  'primary/secondary-token': (facts) => ({
    title: `Create the activation token of ${facts.body.id} on ${facts.name}`,
    expect: '`ACTIVATION_TOKEN` has a value. It expires after 30 minutes.',
    back: 'Revoke the secondary.',
    backCommand: lineFor(facts, 'primary/revoke-secondary', { id: facts.body.id }),
  }),
  'primary/revoke-secondary': ({ name, kind, at, body }) => ({
    title: `Revoke the former registration of ${body.id} on ${name}`,
    expect: 'The exit status is 0.',
    onlyIf: {
      command: `${fieldLine(at, kind, 'known_secondaries')} | tr -d '[]' | tr ' ' '\\n' | grep -Fx ${body.id}`,
      answer: String(body.id),
    },
  }),
  'secondary/update-primary': ({ name }) => ({
    title: `Make ${name} a secondary of the cluster that created the token`,
    expect: 'The exit status is 0.',
    back: `Create an activation token on the former primary of ${name}, and repeat this step with it. Data that only ${name} had is lost.`,
  }),
  'secondary/enable': (facts) => ({
    title: `Make ${facts.name} a ${KIND_WORDS[facts.kind]} secondary; this erases its data`,
    expect: 'A warning that contains "This cluster has successfully found secondary information".',
    back: `Disable the secondary, with a token that is valid on ${facts.name} then. The erased data is not restored.`,
    backCommand: lineFor(facts, 'secondary/disable', bodyFor(facts)),
  }),
}

/** The kind of replication and the key of `TEXTS` in the path of a request, without an ID at its end. */
const PATH = /^sys\/replication\/(dr|performance)\/((?:primary|secondary)\/[\w-]+(?:\/(?:attempt|update)$)?)/

export const describeRequest = (request: Request, at: ClusterAccess): ProcedureStep => {
  const { cluster: name, method, path, body = {} } = request
  const [, kind = 'dr', action = ''] = PATH.exec(path) ?? []
  const text = TEXTS[action]?.({ name, kind: kind as Kind, at, body })
  const step = { cluster: name, command: stepLineOf(request, at) }
  return { title: `${method} ${path} on ${name}`, expect: 'The exit status is 0.', ...step, ...text }
}

/** A command that derives a value and changes no cluster, such as the generation of an OTP. */
export interface LocalCommand {
  readonly title: string
  readonly line: (target: Target) => string
  readonly expect: string
}

export const GENERATE_OTP: LocalCommand = {
  title: 'Generate a one-time password for the token of',
  line: otpLine,
  expect: '`OTP` has a value. Only the operator who decodes the token knows it.',
}

export const DECODE_TOKEN: LocalCommand = {
  title: 'Decode the DR operation token of',
  line: decodingLine,
  expect: '`DR_OPERATION_TOKEN` has a value. It is valid for one operation.',
}

export const describeLocal = ({ title, line, expect }: LocalCommand, at: ClusterAccess): ProcedureStep => ({
  title: `${title} ${at.name}`,
  cluster: at.name,
  command: line(at),
  expect,
})
