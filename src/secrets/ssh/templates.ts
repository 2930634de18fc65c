/** Identity templates in the settings of roles, such as `{{identity.entity.name}}`. */
import type { BackendContext } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import type { Request } from '../../logical/request.js'

export class Templates {
  readonly #context: BackendContext

  constructor(context: BackendContext) {
    this.#context = context
  }

  /** Replaces the templates by values of the client's entity. Throws LogicalError 400 if a value is missing. */
  render(text: string, request: Request): string {
    const rendered = this.#context.resolveTemplate(text, request.token?.entityId ?? '')
    if (rendered === undefined) throw invalid(`the template ${JSON.stringify(text)} has no value for this token`)
    return rendered
  }
}
