/** The settings of all roles of a mount. */
import { type BackendContext, definePath, type PathSpec, sentBy } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, int } from '../../logical/fields.js'
import { putJson, readRecord, type ReadStorage } from '../../logical/storage.js'

const CONFIG_KEY = 'config'

interface CertConfig {
  /** True if a renewal does not need the certificate of the login. */
  readonly isBindingDisabled: boolean
  /** True if the alias has the metadata of the certificate. */
  readonly hasAliasMetadata: boolean
}

const CONFIG_FIELDS = {
  disable_binding: bool('Whether tokens can be renewed without the client certificate of their login.'),
  enable_identity_alias_metadata: bool('Whether the entity alias has the metadata of the certificate.'),
  enable_metadata_on_failures: bool('Not supported.'),
  ocsp_cache_size: int('Not supported.'),
  role_cache_size: int('Not supported.'),
} as const

const UNSUPPORTED = ['enable_metadata_on_failures', 'ocsp_cache_size', 'role_cache_size'] as const

export const findConfig = (storage: ReadStorage): CertConfig =>
  readRecord<CertConfig>(storage, CONFIG_KEY) ?? { isBindingDisabled: false, hasAliasMetadata: false }

export const configPath = ({ storage }: BackendContext): PathSpec =>
  definePath('config', CONFIG_FIELDS, 'Read or write the configuration.', {
    read: () => {
      const { isBindingDisabled, hasAliasMetadata } = findConfig(storage)
      return {
        data: {
          disable_binding: isBindingDisabled,
          enable_identity_alias_metadata: hasAliasMetadata,
          ocsp_cache_size: 0,
        },
      }
    },
    update: (call) => {
      const name = UNSUPPORTED.find((field) => call.values[field])
      if (name !== undefined) throw invalid(`${name} is not supported by this server`)
      const sent = sentBy(call)
      return storage.write((tx) => {
        const current = findConfig(tx)
        return void putJson(tx, CONFIG_KEY, {
          isBindingDisabled: sent('disable_binding') ?? current.isBindingDisabled,
          hasAliasMetadata: sent('enable_identity_alias_metadata') ?? current.hasAliasMetadata,
        } satisfies CertConfig)
      })
    },
  })
