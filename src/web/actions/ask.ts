import type { PageAction, PageChoices, PagePlan, PageWork } from '../../lab/web/page-facts.js'

const ROOT = '/_understudy/v1/actions'

/** Rejects with an Error whose message can be shown to the user. */
export const planOf = (action: PageAction, signal: AbortSignal): Promise<PagePlan> =>
  send('POST', '/plan', { body: action, signal })

export const choices = (signal: AbortSignal): Promise<PageChoices> => send('GET', '', { signal })

export const begin = (action: PageAction): Promise<PageWork> => send('POST', '', { body: action })

export const stop = (id: number): Promise<void> => send('DELETE', `/${id}`, {})

interface Options {
  readonly body?: unknown
  readonly signal?: AbortSignal
}

const send = async <T>(method: string, path: string, { body, signal }: Options): Promise<T> => {
  const content =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }
  const response = await window
    .fetch(ROOT + path, { method, signal: signal ?? null, ...content })
    .catch((error: unknown) => {
      if (signal?.aborted) throw error
      throw new Error('"understudy web" does not answer')
    })
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T
  throw new Error(await reasonOf(response))
}

const reasonOf = async (response: Response): Promise<string> => {
  const text = await response.text()
  try {
    return (JSON.parse(text) as { errors: string[] }).errors.join('; ')
  } catch {
    return text.trim() || `status ${response.status}`
  }
}
