import { type Call, definePath, listed, type PathSpec } from '../../logical/backend.js'
import { invalidInList } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import type { PasswordPolicies } from '../passwords/password-policies.js'
import { decodePolicyText } from './policy-paths.js'

const NAME = { name: string('Name of the password policy.') }
const TEXT = {
  ...NAME,
  policy: string('The password policy in HCL or JSON, plain or in base64.'),
  entropy_source: string('Entropy source: platform or seal. Both are the platform here.'),
}

const ENTROPY_SOURCES: readonly string[] = ['', 'platform', 'seal']

export const passwordPolicyPaths = ({ passwords }: { readonly passwords: PasswordPolicies }): PathSpec[] => [
  definePath('policies/password/?', {}, 'List the password policies.', {
    list: ({ request }) => listed(passwords.list(request.namespace.id)),
  }),
  definePath('policies/password/*name/generate', NAME, 'Generate a password.', {
    read: ({ request, values }) => ({ data: { password: passwords.generate(request.namespace.id, values.name) } }),
  }),
  definePath('policies/password/*name', TEXT, 'Read, write or delete a password policy.', {
    read: ({ request, values }) => ({ data: { policy: passwords.require(request.namespace.id, values.name) } }),
    update: async ({ request, values }: Call<typeof TEXT>) => {
      if (values.policy === '') throw invalidInList('missing policy')
      if (!ENTROPY_SOURCES.includes(values.entropy_source))
        throw invalidInList(`unsupported entropy source "${values.entropy_source}"; must be "platform" or "seal"`)
      await passwords.put(request.namespace.id, values.name, decodePolicyText(values.policy))
      return undefined
    },
    delete: async ({ request, values }) => {
      await passwords.remove(request.namespace.id, values.name)
      return undefined
    },
  }),
]
