import type { Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { activationToken, authorityOf, findMissingMode, freeId, idOf, REPLICATION } from './role-changes.js'
import { lineOf } from './lines.js'
import type { Runbook } from './runbook.js'

/** Makes one cluster a secondary of another, which erases its data. A filter excludes mounts or namespaces. */
export const activate = async (
  runbook: Runbook,
  primary: string,
  secondary: string,
  kind: Kind,
  filter?: { readonly mode: 'allow' | 'deny'; readonly paths: string },
): Promise<void> => {
  const id = idOf(kind, secondary)
  await refuseReplicating(runbook, secondary, kind)
  const { mode } = await runbook.status(primary, kind)
  const on = (path: string, body?: Record<string, string>) =>
    runbook.call({ cluster: primary, method: 'PUT', path, isAuthenticated: true, ...(body ? { body } : {}) })
  if (mode !== 'primary') await on(`${REPLICATION}/${kind}/primary/enable`)
  await runbook.wait(`${primary} to be a ${kind} primary`, () => findMissingMode(runbook, primary, kind, 'primary'))
  await freeId(runbook, primary, kind, id)
  if (filter) await on(`${REPLICATION}/performance/primary/paths-filter/${id}`, filter)
  const token = await activationToken(runbook, primary, kind, id)
  const path = `${REPLICATION}/${kind}/secondary/enable`
  await runbook.call({
    cluster: secondary,
    method: 'PUT',
    path,
    body: { token, ...authorityOf(runbook, primary) },
    isAuthenticated: true,
  })
  await runbook.wait(`${secondary} to follow ${primary}`, () => runbook.findLag(primary, secondary, kind))
  runbook.say(`${secondary} is a ${kind} secondary of ${primary} and replicated`)
}

/** Throws before any change if the cluster already replicates: activation would revoke an existing secondary of that name. */
const refuseReplicating = async (runbook: Runbook, name: string, kind: Kind): Promise<void> => {
  if (kind === 'performance' && (await runbook.status(name, 'dr')).mode === 'secondary')
    throw new LabError(
      'remote',
      `${name} is a DR secondary, which joins no other set before it is promoted or disabled`,
    )
  const { mode } = await runbook.status(name, kind)
  if (mode !== 'primary' && mode !== 'secondary') return
  const disable = { method: 'PUT', path: `${REPLICATION}/${kind}/${mode}/disable` }
  throw new LabError(
    'remote',
    `${name} is a ${kind} ${mode} already; to start over, first: ${lineOf(disable, runbook.cluster(name).apiAddress)}`,
  )
}
