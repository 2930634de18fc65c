import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
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
  const rowOf = ({ entry, backend }: OpenMount) => {
    const aliases = backend.lockedUsers?.list() ?? []
    return { mount_accessor: entry.accessor, counts: aliases.length, alias_identifiers: aliases }
  }
  return [
    definePath('locked-users', LIST_FIELDS, 'List the locked users.', {
      read: ({ request, values }) => {
        const wanted = visible(request.namespace).filter(
          ({ entry }) => values.mount_accessor === '' || entry.accessor === values.mount_accessor,
        )
        const namespaces = new Map(wanted.map(({ namespace }) => [namespace.id, namespace]))
        const rows = [...namespaces.values()].map((namespace) => {
          const accessors = wanted
            .filter((mount) => mount.namespace.id === namespace.id)
            .map(rowOf)
            .filter(({ counts }) => counts > 0)
          return {
            namespace_id: namespace.id,
            namespace_path: namespace.path,
            counts: sum(accessors),
            mount_accessors: accessors,
          }
        })
        const byNamespace = rows.filter(({ counts }) => counts > 0)
        return { data: { by_namespace: byNamespace, total: sum(byNamespace) } }
      },
    }),
    definePath('locked-users/:mount_accessor/unlock/*alias_identifier', UNLOCK_FIELDS, 'Unlock a user.', {
      update: ({ request, values }) => {
        const mount = visible(request.namespace).find(({ entry }) => entry.accessor === values.mount_accessor)
        if (!mount) throw invalid(`no auth mount with user lockout has the accessor "${values.mount_accessor}"`)
        if (values.alias_identifier === '') throw invalid('missing alias_identifier')
        mount.backend.lockedUsers?.unlock(values.alias_identifier)
        return undefined
      },
    }),
  ]
}

const sum = (rows: readonly { readonly counts: number }[]): number =>
  rows.reduce((total, { counts }) => total + counts, 0)
