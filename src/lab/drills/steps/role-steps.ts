import type { Kind } from '../../model/kinds.js'
import { LabError } from '../../model/lab-error.js'
import { operationToken } from '../../operations/operations.js'
import type { Step as RunbookStep } from '../../operations/runbook-options.js'
import {
  activate,
  activationToken,
  authorityOf,
  demote,
  findMissingMode,
  freeId,
  promote,
} from '../../operations/role-changes.js'
import { askStatus, findLag, idOf, REPLICATION } from '../../requests/replication.js'
import type { DrillContext } from '../context/drill-context.js'
import { CLUSTER, KIND, findMissingKeys, mapOf, ON_KIND, PAIR, step, variable } from '../context/forms.js'

const operationTokenFor = async (context: DrillContext, cluster: string, given = 'operation'): Promise<string> =>
  given === 'operation' ? operationToken(context.runbook, cluster) : given

interface Change extends Pick<RunbookStep, 'cluster' | 'path'> {
  readonly method?: RunbookStep['method']
  readonly body?: RunbookStep['body']
}

/** Sends a request below `sys/replication/`, with a root token except to a DR secondary, which accepts none. */
const change = ({ runbook }: DrillContext, { path, method = 'PUT', body, cluster }: Change): Promise<unknown> =>
  runbook.call({
    cluster,
    method,
    path: `${REPLICATION}/${path}`,
    ...(body && { body }),
    isAuthenticated: !path.startsWith('dr/secondary/'),
  })

const PATHS = { type: 'array', minItems: 1, items: { type: 'string' } } as const
const FILTER = { mode: { type: 'string', enum: ['allow', 'deny'] }, paths: PATHS } as const

export const ROLE_STEPS = {
  promote: step({
    schema: mapOf('Promotes a secondary, and waits until it reports the role.', ['cluster', 'kind'], {
      ...ON_KIND,
      token: {
        type: 'string',
        default: 'operation',
        description: `For DR: "operation" generates a one-time token from the key shares; otherwise a token, such as "${variable('batch')}". For performance replication, a root token is used.`,
      },
      force: { type: 'boolean', default: false, description: 'Promotes even if data may be missing.' },
    }),
    text: ({ cluster, kind, force }) => `promote ${cluster} to ${kind} primary${force ? ' by force' : ''}`,
    async run(context, { cluster, kind, token: given, force = false }) {
      const token = kind === 'dr' ? await operationTokenFor(context, cluster, given) : undefined
      await promote(context.runbook, cluster, kind, { token, isForced: force })
      context.promoted = cluster
    },
  }),
  demote: step({
    schema: mapOf('Demotes a primary, and waits until it reports the role.', ['cluster', 'kind'], ON_KIND),
    text: ({ cluster, kind }) => `demote ${cluster} (${kind})`,
    run: (context, { cluster, kind }) => demote(context.runbook, cluster, kind),
  }),
  disable: step({
    schema: mapOf('Disables one kind of replication on a cluster.', ['cluster', 'kind'], ON_KIND),
    text: ({ cluster, kind }) => `disable ${kind} replication on ${cluster}`,
    async run(context, { cluster, kind }) {
      const { mode } = await askStatus(context.lab.anonymous(cluster), kind)
      if (mode !== 'primary' && mode !== 'secondary')
        throw new LabError('remote', `the ${kind} replication of ${cluster} is ${mode}: there is nothing to disable`)
      const isDrSecondary = kind === 'dr' && mode === 'secondary'
      const body = isDrSecondary ? { dr_operation_token: await operationToken(context.runbook, cluster) } : undefined
      await change(context, { cluster, path: `${kind}/${mode}/disable`, body })
      await context.wait(`${kind} replication of ${cluster} to be disabled`, () =>
        findMissingMode(context.runbook, cluster, kind, 'disabled'),
      )
    },
  }),
  join: step({
    schema: mapOf(
      'Makes one cluster a secondary of another, and waits until it is replicated. Enables the primary if necessary. Erases the data of the secondary.',
      ['primary', 'secondary', 'kind'],
      {
        ...PAIR,
        kind: KIND,
        filter: mapOf('Path filter that is set before the cluster joins.', ['mode', 'paths'], FILTER),
      },
    ),
    text: ({ primary, secondary, kind }) => `${secondary} joins ${primary} as ${kind} secondary`,
    problems: ({ primary, secondary, kind, filter }) => [
      ...(primary === secondary ? ['a cluster cannot follow itself'] : []),
      ...(filter !== undefined && kind !== 'performance' ? ['only performance secondaries can have filters'] : []),
    ],
    async run({ lab, runbook }, { primary, secondary, kind, filter }) {
      const paths = filter && { mode: filter.mode, paths: filter.paths.join(',') }
      await activate(runbook, primary, secondary, kind, paths)
      // A join erases the secondary and invalidates its own root token.
      const { unsealKeys, threshold } = lab.cluster(primary)
      lab.keepKeys(secondary, { unsealKeys, threshold, rootToken: '' })
    },
  }),
  'update-primary': step({
    schema: mapOf(
      'Changes the primary of a secondary without erasing data, by an activation token or by addresses. With "primary", waits until the secondary is replicated.',
      ['cluster', 'kind'],
      {
        ...ON_KIND,
        primary: { ...CLUSTER, description: 'Cluster that issues the activation token.' },
        token: { type: 'string', description: `An activation token, such as "${variable('activation')}".` },
        addresses: { ...PATHS, description: `Addresses of the primary, such as "${variable('B.cluster_address')}".` },
        'operation-token': { type: 'string', default: 'operation', description: 'For DR; see promote.' },
      },
    ),
    text: ({ cluster, primary, addresses, kind }) =>
      `${cluster} follows ${primary ?? (addresses?.join(', ') || 'the primary of its token')} (${kind})`,
    problems: ({ primary, token, addresses }) =>
      [primary, token, addresses].filter((one) => one !== undefined).length === 1
        ? []
        : ['update-primary needs exactly one of "primary", "token" and "addresses"'],
    async run(context, { cluster, kind, primary, token: given, addresses, 'operation-token': operation }) {
      const { lab, runbook } = context
      const body = {
        ...(kind === 'dr' && { dr_operation_token: await operationTokenFor(context, cluster, operation) }),
        ...(given !== undefined && { token: given }),
        ...(primary !== undefined && { token: await tokenFor(context, primary, cluster, kind) }),
        ...(primary !== undefined && authorityOf(runbook, primary)),
        ...(addresses !== undefined && { update_primary_addrs: addresses }),
      }
      await change(context, { cluster, path: `${kind}/secondary/update-primary`, body })
      if (primary === undefined) return
      await context.wait(`${cluster} to follow ${primary}`, () =>
        findLag(lab.anonymous(primary), lab.anonymous(cluster), kind),
      )
    },
  }),
  revoke: step({
    schema: mapOf('Revokes a secondary on its primary.', ['primary', 'secondary', 'kind'], {
      ...PAIR,
      kind: KIND,
      id: { type: 'string', description: 'ID of the secondary, if it is not the default dr-b or perf-c.' },
    }),
    text: ({ primary, secondary, kind }) => `${primary} revokes ${secondary} (${kind})`,
    run: (context, { primary: cluster, secondary, kind, id = idOf(kind, secondary) }) =>
      change(context, { cluster, path: `${kind}/primary/revoke-secondary`, body: { id } }),
  }),
  filter: step({
    schema: mapOf('Sets or removes the path filter of a performance secondary.', ['primary', 'secondary'], {
      ...PAIR,
      id: { type: 'string', description: 'ID of the secondary, if it is not the default perf-c.' },
      ...FILTER,
      remove: { type: 'boolean', default: false },
    }),
    text: ({ primary, secondary, mode, paths, remove }) =>
      remove
        ? `${primary} removes the filter of ${secondary}`
        : `${primary} filters ${secondary}: ${mode} ${paths?.join(', ')}`,
    problems: (value) => (value.remove ? [] : findMissingKeys(value, ['mode', 'paths'], 'a new filter')),
    run(context, { primary: cluster, secondary, id = idOf('performance', secondary), remove, ...filter }) {
      const path = `performance/primary/paths-filter/${id}`
      if (remove) return change(context, { cluster, path, method: 'DELETE' })
      return change(context, { cluster, path, body: { mode: filter.mode ?? 'deny', paths: filter.paths ?? [] } })
    },
  }),
}

const tokenFor = async ({ runbook }: DrillContext, primary: string, secondary: string, kind: Kind): Promise<string> => {
  const id = idOf(kind, secondary)
  await freeId(runbook, primary, kind, id)
  return activationToken(runbook, primary, kind, id)
}
