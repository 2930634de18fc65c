import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { nullIfEmpty } from '../../logical/json.js'
import { string } from '../../logical/fields.js'
import type { NamespaceRef } from '../../logical/request.js'
import type { OpenMount } from '../mounts/router.js'

const LIST_FIELDS = { mount_accessor: string('Accessor of a mount. If set, lists only the users of this mount.') }
const UNLOCK_FIELDS = {
  mount_accessor: string('Accessor of the mount that locked the user.'),
  alias_identifier: string('Name of the user in the mount.'),
}

/**
 * Creates the paths of sys/locked-users. They list and unlock users that are locked after too many failed logins. Each
 * cluster counts failures separately, so both operations apply only to the cluster that receives the request.
 */
export const lockedUsersPaths = ({ mounts }: { readonly mounts: () => readonly OpenMount[] }): PathSpec[] => {
  const visible = (from: NamespaceRef): OpenMount[] =>
    mounts().filter(({ backend, namespace }) => backend.lockedUsers && namespace.path.startsWith(from.path))
  const find = (from: NamespaceRef, accessor: string): OpenMount | undefined =>
    visible(from).find(({ entry }) => entry.accessor === accessor)
  return [
    definePath('locked-users', LIST_FIELDS, 'List the locked users.', {
      read: ({ request: { namespace }, values: { mount_accessor: accessor } }) => {
        if (accessor === '') return answer(rowsOf(visible(namespace)).filter(({ counts }) => counts > 0))
        const mount = find(namespace, accessor)
        return answer([rowOfNamespace(mount?.namespace ?? namespace, [rowOfMount(accessor, mount)])])
      },
    }),
    definePath('locked-users/:mount_accessor/unlock/*alias_identifier', UNLOCK_FIELDS, 'Unlock a user.', {
      update: ({ request, values }) => {
        if (values.alias_identifier === '') throw invalid('missing alias_identifier')
        find(request.namespace, values.mount_accessor)?.backend.lockedUsers?.unlock(values.alias_identifier)
        return undefined
      },
    }),
  ]
}

const answer = (rows: readonly { readonly counts: number }[]) => ({ data: { by_namespace: rows, total: sum(rows) } })

/** Returns the rows of all namespaces, without the mounts that have no locked user. */
const rowsOf = (mounts: readonly OpenMount[]) => {
  const namespaces = new Map(mounts.map(({ namespace }) => [namespace.id, namespace]))
  return [...namespaces.values()].map((namespace) => {
    const own = mounts.filter((mount) => mount.namespace.id === namespace.id)
    const rows = own.map((mount) => rowOfMount(mount.entry.accessor, mount))
    return rowOfNamespace(
      namespace,
      rows.filter(({ counts }) => counts > 0),
    )
  })
}

const rowOfNamespace = ({ id, path }: NamespaceRef, rows: readonly { readonly counts: number }[]) => ({
  namespace_id: id,
  namespace_path: path,
  counts: sum(rows),
  mount_accessors: rows,
})

const rowOfMount = (accessor: string, mount: OpenMount | undefined) => {
  const aliases = mount?.backend.lockedUsers?.list() ?? []
  return {
    mount_accessor: accessor,
    counts: aliases.length,
    alias_identifiers: nullIfEmpty(aliases),
  }
}

const sum = (rows: readonly { readonly counts: number }[]): number =>
  rows.reduce((total, { counts }) => total + counts, 0)
