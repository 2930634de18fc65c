import { decodeBase64 } from '../../base/base64.js'
import { type Call, definePath, listed, type PathSpec, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { type FieldTable, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { PolicyStore } from '../acl/policies.js'

const NAME = { name: string('Name of the policy, stored in lower case.') }
const TEXT = { ...NAME, policy: string('The rules in HCL or JSON, plain or in base64.') }
const OLD_TEXT = { ...TEXT, rules: string('Deprecated name of policy.', '', { isDeprecated: true }) }

const MODE = 'within_namespace_hierarchy'
const MODE_FIELDS = { group_policy_application_mode: string(`Mode: ${MODE}.`, '', { isRequired: true }) }

/** The mode in which policies of groups apply. The members of a group are in its namespace, so there is one mode. */
const groupPolicyPath = definePath('config/group-policy-application', MODE_FIELDS, 'Read or set the mode of groups.', {
  read: () => ({ data: { group_policy_application_mode: MODE } }),
  update: ({ values: { group_policy_application_mode: mode } }) => {
    if (mode !== MODE) throw invalid(`the mode ${JSON.stringify(mode)} is not supported: use ${MODE}`)
    return undefined
  },
})

/**
 * Creates the paths of sys/policy and sys/policies/acl, which access the same store. The older paths of sys/policy
 * return the text as `rules`, and repeat the content of `data` at the top level.
 */
export const policyPaths = ({ policies }: { readonly policies: PolicyStore }): PathSpec[] => {
  const list = ({ request }: Call) => policies.list(request.namespace.id)
  const listOld = async (call: Call): Promise<Response> => {
    const keys = await list(call)
    return { data: { keys, policies: keys } }
  }
  const readAs =
    (textKey: 'policy' | 'rules') =>
    ({ request, values }: Call<typeof NAME>): Response | undefined =>
      shown(policies.find(request.namespace.id, values.name), ({ name, text }) => ({ name, [textKey]: text }))
  const write = async (call: Call, name: string, text: string, warnings: string[]): Promise<Response | undefined> => {
    if (text === '') throw invalid("'policy' parameter not supplied or empty")
    const lower = name.toLowerCase()
    if (lower !== name) warnings.push(`policy name was converted to ${lower}`)
    warnings.push(...(await policies.put(call.request.namespace.id, lower, decodePolicyText(text))))
    return warnings.length > 0 ? { warnings } : undefined
  }
  const remove = async ({ request, values }: Call<typeof NAME>): Promise<undefined> => {
    await policies.remove(request.namespace.id, values.name)
  }

  return [
    definePath('policy/?', {}, 'List the policies.', { read: listOld, list: listOld, mirror: true }),
    definePath('policy/*name', OLD_TEXT, 'Read, write or delete a policy.', {
      read: readAs('rules'),
      update: (call) => {
        const { name, policy, rules } = call.values
        const isOld = policy === '' && rules !== ''
        const warnings = isOld ? ["'rules' is deprecated, please use 'policy' instead"] : []
        return write(call, name, isOld ? rules : policy, warnings)
      },
      delete: remove,
      mirror: true,
    }),
    definePath('policies/acl/?', {}, 'List the policies.', { list: (call) => listed(list(call)) }),
    definePath('policies/acl/*name', TEXT, 'Read, write or delete a policy.', {
      read: readAs('policy'),
      update: (call) => write(call, call.values.name, call.values.policy, []),
      delete: remove,
    }),
    groupPolicyPath,
  ] satisfies PathSpec<FieldTable>[]
}

/** Decodes a policy text if all of it is base64. A plain policy is never valid base64. */
export const decodePolicyText = (text: string): string => decodeBase64(text)?.toString('utf8') || text
