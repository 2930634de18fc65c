import { textsOfJson } from '../../base/json-print.js'
import { readNamedText } from '../../base/named-file.js'
import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import type { Runbook } from './runbook.js'

/** Single role changes, from which operations are built: one request, and a wait for its effect. */

export const REPLICATION = 'sys/replication'

/** Returns the ID of a secondary at its primary: kind of replication and initial position. */
export const idOf = (kind: Kind, secondary: string): string =>
  `${kind === 'dr' ? 'dr' : 'perf'}-${secondary.toLowerCase()}`

interface PromoteOptions {
  /** A DR operation token. */
  readonly token?: string | undefined
  readonly isForced: boolean
}

/** Promotes a secondary. Performance replication uses a root token instead. */
export const promote = async (
  runbook: Runbook,
  name: string,
  kind: Kind,
  { token, isForced }: PromoteOptions,
): Promise<void> => {
  const body = { ...(token === undefined ? {} : { dr_operation_token: token }), ...(isForced ? { force: true } : {}) }
  await runbook.call({
    cluster: name,
    method: 'PUT',
    path: `${REPLICATION}/${kind}/secondary/promote`,
    ...(Object.keys(body).length > 0 ? { body } : {}),
    isAuthenticated: kind === 'performance',
  })
  const role = kind === 'dr' ? 'DR' : kind
  runbook.suppose(name, kind, { mode: 'primary', known_secondaries: [] })
  await runbook.wait(`${name} to be the ${role} primary`, () => findMissingMode(runbook, name, kind, 'primary'))
}

/** Demotes a primary. Resolves to the warnings of the response: one of them names each secondary that lacks data. */
export const demote = async (runbook: Runbook, name: string, kind: Kind): Promise<readonly string[]> => {
  const { warnings } = await runbook.call({
    cluster: name,
    method: 'PUT',
    path: `${REPLICATION}/${kind}/primary/demote`,
    isAuthenticated: true,
  })
  runbook.suppose(name, kind, { mode: 'secondary' })
  await runbook.wait(`${name} to be a secondary`, () => findMissingMode(runbook, name, kind, 'secondary'))
  return textsOfJson(warnings)
}

/** Revokes an existing secondary with this ID, including its filter: the same cluster is joining again. */
export const freeId = async (runbook: Runbook, primary: string, kind: Kind, id: string): Promise<void> => {
  const known = (await runbook.status(primary, kind)).known_secondaries
  if (Array.isArray(known) && known.includes(id)) await onPrimary(runbook, primary, kind, 'revoke-secondary', id)
}

export const activationToken = async (runbook: Runbook, primary: string, kind: Kind, id: string): Promise<string> => {
  const answer = await onPrimary(runbook, primary, kind, 'secondary-token', id)
  if (runbook.isDryRun) return '<activation token>'
  const wrapped = answer.wrap_info as { token?: unknown } | null
  if (typeof wrapped?.token !== 'string')
    throw new LabError('remote', 'the primary answered without an activation token')
  return wrapped.token
}

const onPrimary = (runbook: Runbook, cluster: string, kind: Kind, action: string, id: string) =>
  runbook.call({
    cluster,
    method: 'PUT',
    path: `${REPLICATION}/${kind}/primary/${action}`,
    body: { id },
    isAuthenticated: true,
  })

export const findMissingMode = async (
  runbook: Runbook,
  name: string,
  kind: Kind,
  wanted: string,
): Promise<string | undefined> => {
  const { mode } = await runbook.status(name, kind)
  return mode === wanted ? undefined : `its mode is ${mode}`
}

/** Returns the CA certificate for the other cluster, which redeems the token at the API of this one. */
export const authorityOf = (runbook: Runbook, primary: string): Record<string, string> => {
  const cluster = runbook.cluster(primary)
  if (cluster.caFile === undefined) return {}
  // A local server can read the file. An external server may run on another machine.
  return 'dataDir' in cluster ? { ca_file: cluster.caFile } : { ca_cert: readNamedText(cluster.caFile) }
}
