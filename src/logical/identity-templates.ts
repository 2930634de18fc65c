/** Identity templates in the settings of roles, such as `{{identity.entity.name}}`, for the client of a request. */
import type { BackendContext } from './backend.js'
import { invalid } from './errors.js'
import type { Request } from './request.js'

export class IdentityTemplates {
  readonly #context: Pick<BackendContext, 'resolveTemplate'>
  readonly #entityId: string

  constructor(context: Pick<BackendContext, 'resolveTemplate'>, { token }: Pick<Request, 'token'>) {
    this.#context = context
    this.#entityId = token?.entityId ?? ''
  }

  /** Replaces the templates by values of the client's entity. Throws LogicalError 400 if a value is missing. */
  require(text: string): string {
    const resolved = this.#context.resolveTemplate(text, this.#entityId)
    if (resolved === undefined) throw invalid(`the template ${JSON.stringify(text)} has no value for this token`)
    return resolved
  }

  /** Replaces the templates of a list. Omits the texts whose values are missing. */
  resolveAll(texts: readonly string[]): string[] {
    return texts.flatMap((text) => this.#context.resolveTemplate(text, this.#entityId) ?? [])
  }
}
