/** The roles of one-time passwords that are valid for all addresses. */
import { type BackendContext, definePath, type PathSpec } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import { commaList } from '../../logical/fields.js'
import { Records } from '../../logical/records.js'

const FIELDS = { roles: commaList('Names of the roles.') } as const
const NAME = 'zeroaddress'

export class ZeroAddress {
  readonly #context: BackendContext
  readonly #records: Records<{ readonly roles: readonly string[] }>

  constructor(context: BackendContext) {
    this.#context = context
    this.#records = new Records(context, 'config/')
  }

  roles(): readonly string[] {
    return this.#records.find(NAME)?.roles ?? []
  }

  async removeRole(role: string): Promise<void> {
    if (!this.roles().includes(role)) return
    await this.#records.update(NAME, (before) => before && { roles: before.roles.filter((name) => name !== role) })
  }

  /** `isRole` returns whether a role exists. */
  paths(isRole: (name: string) => boolean): PathSpec[] {
    return [
      definePath('config/zeroaddress', FIELDS, 'Set, read or delete the roles that are valid for all addresses.', {
        update: async ({ values: { roles } }) => {
          requirePrimary(this.#context)
          if (roles.length === 0) throw invalid('Missing roles')
          await this.#records.update(NAME, () => {
            const unknown = roles.find((name) => !isRole(name))
            if (unknown !== undefined) throw invalid(`Role ${JSON.stringify(unknown)} does not exist`)
            return { roles }
          })
          return undefined
        },
        read: () => {
          const found = this.#records.find(NAME)
          return found && { data: { roles: found.roles } }
        },
        delete: () => this.#records.remove(NAME),
      }),
    ]
  }
}
