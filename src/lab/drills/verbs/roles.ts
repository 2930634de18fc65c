import type { Kind } from '../../model/kinds.js'
import { LabError } from '../../model/lab-error.js'
import { operationToken } from '../../operations/operations.js'
import {
  activate,
  activationToken,
  authorityOf,
  demote,
  findMissingMode,
  freeId,
  promote,
} from '../../operations/role-changes.js'
import { findLag, idOf, REPLICATION, statusOf } from '../../requests/replication.js'
import type { VerbValues } from '../drill.js'
import type { DrillContext } from '../drill-context.js'

/** Verbs that change replication roles. */

export const promoteCluster = async (context: DrillContext, value: VerbValues['promote']): Promise<void> => {
  const { cluster, kind, force = false } = value
  const token = kind === 'dr' ? await operationTokenFor(context, cluster, value.token) : undefined
  await promote(context.runbook, cluster, kind, { token, isForced: force })
  context.promoted = cluster
}

const operationTokenFor = async (context: DrillContext, cluster: string, given = 'operation'): Promise<string> =>
  given === 'operation' ? operationToken(context.runbook, cluster) : given

export const demoteCluster = async (context: DrillContext, { cluster, kind }: VerbValues['demote']): Promise<void> => {
  await demote(context.runbook, cluster, kind)
}

export const disable = async (context: DrillContext, { cluster, kind }: VerbValues['disable']): Promise<void> => {
  const { mode } = await statusOf(context.lab.anonymous(cluster), kind)
  if (mode !== 'primary' && mode !== 'secondary')
    throw new LabError('remote', `the ${kind} replication of ${cluster} is ${mode}: there is nothing to disable`)
  const isDrSecondary = kind === 'dr' && mode === 'secondary'
  await context.runbook.call({
    cluster,
    method: 'PUT',
    path: `${REPLICATION}/${kind}/${mode}/disable`,
    ...(isDrSecondary ? { body: { dr_operation_token: await operationToken(context.runbook, cluster) } } : {}),
    isAuthenticated: !isDrSecondary,
  })
  await context.wait(`${kind} replication of ${cluster} to be disabled`, () =>
    findMissingMode(context.runbook, cluster, kind, 'disabled'),
  )
}

export const join = async (
  context: DrillContext,
  { primary, secondary, kind, filter }: VerbValues['join'],
): Promise<void> => {
  const paths = filter && { mode: filter.mode, paths: filter.paths.join(',') }
  await activate(context.runbook, primary, secondary, kind, paths)
  takeKeys(context, primary, secondary)
}

/** Assigns the primary's keys to a secondary: a join erases it and invalidates its own root token. */
const takeKeys = (context: DrillContext, primary: string, secondary: string): void => {
  const { unsealKeys, threshold } = context.lab.cluster(primary)
  context.lab.keepKeys(secondary, { unsealKeys, threshold, rootToken: '' })
}

export const updatePrimary = async (context: DrillContext, value: VerbValues['update-primary']): Promise<void> => {
  const { cluster, kind, primary, addresses } = value
  const operation =
    kind === 'dr'
      ? { dr_operation_token: await operationTokenFor(context, cluster, value['operation-token']) }
      : undefined
  const token = primary === undefined ? value.token : await tokenFor(context, primary, cluster, kind)
  await context.runbook.call({
    cluster,
    method: 'PUT',
    path: `${REPLICATION}/${kind}/secondary/update-primary`,
    body: {
      ...operation,
      ...(token === undefined ? {} : { token }),
      ...(primary === undefined ? {} : authorityOf(context.runbook, primary)),
      ...(addresses === undefined ? {} : { update_primary_addrs: addresses }),
    },
    isAuthenticated: kind === 'performance',
  })
  if (primary === undefined) return
  const { lab } = context
  await context.wait(`${cluster} to follow ${primary}`, () =>
    findLag(lab.anonymous(primary), lab.anonymous(cluster), kind),
  )
}

const tokenFor = async (context: DrillContext, primary: string, secondary: string, kind: Kind): Promise<string> => {
  const id = idOf(kind, secondary)
  await freeId(context.runbook, primary, kind, id)
  return activationToken(context.runbook, primary, kind, id)
}

export const revoke = async (context: DrillContext, value: VerbValues['revoke']): Promise<void> => {
  const { primary, secondary, kind, id = idOf(kind, secondary) } = value
  await context.runbook.call({
    cluster: primary,
    method: 'PUT',
    path: `${REPLICATION}/${kind}/primary/revoke-secondary`,
    body: { id },
    isAuthenticated: true,
  })
}

export const setFilter = async (context: DrillContext, value: VerbValues['filter']): Promise<void> => {
  const { primary, secondary, id = idOf('performance', secondary), mode, paths = [], remove = false } = value
  const path = `${REPLICATION}/performance/primary/paths-filter/${id}`
  await context.runbook.call({
    cluster: primary,
    method: remove ? 'DELETE' : 'PUT',
    path,
    ...(remove ? {} : { body: { mode: mode ?? 'deny', paths } }),
    isAuthenticated: true,
  })
}
