import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import type { Response } from '../../logical/request.js'
import { ROLE_FIELDS, roleData, type TokenRole, type TokenRoles } from './role-record.js'

/**
 * Creates auth/token/roles, which manages token roles. `maxTtlSeconds` returns the maximum TTL of a namespace's token mount.
 */
export const rolePaths = (roles: TokenRoles, maxTtlSeconds: (namespaceId: string) => number): PathSpec[] => {
  const write = async (call: Call<typeof ROLE_FIELDS>): Promise<Response | undefined> => {
    const { id: namespaceId } = call.request.namespace
    const { role, warnings } = await roles.put(namespaceId, call.values.name, call)
    const all = [...warnings, ...longLifeWarnings(role, maxTtlSeconds(namespaceId))]
    return all.length === 0 ? undefined : { warnings: all }
  }
  return [
    definePath('roles/?', {}, 'List the token roles.', {
      list: async ({ request }) => ({ data: { keys: await roles.list(request.namespace.id) } }),
    }),
    definePath('roles/:name', ROLE_FIELDS, 'Read, write or delete a token role.', {
      read: ({ request, values }) => {
        const role = roles.find(request.namespace.id, values.name)
        return role && { data: roleData(role) }
      },
      update: write,
      delete: async ({ request, values }) => void (await roles.remove(request.namespace.id, values.name)),
      exists: ({ request, values }) => roles.find(request.namespace.id, values.name) !== undefined,
    }),
  ]
}

const longLifeWarnings = ({ explicitMaxTtl }: TokenRole, maxSeconds: number): string[] =>
  explicitMaxTtl.value > maxSeconds
    ? [
        `Given explicit max TTL of ${explicitMaxTtl.value} is greater than system/mount allowed value of ${maxSeconds} ` +
          'seconds; tokens will live no longer than that',
      ]
    : []
