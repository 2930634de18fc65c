import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Call, keysOf } from './call.js'
import { useRead } from './means.js'

interface KeysProps {
  readonly keys: readonly string[]
  readonly current: string | undefined
  readonly onOpen: (key: string) => void
}

/** Maximum number of names to show. With more names, the user must filter. */
const SHOWN_MAX = 200

/** A list of names. With many names, it has a filter. */
export const Keys = ({ keys, current, onOpen }: KeysProps) => {
  const [wanted, setWanted] = useState('')
  const found = keys.filter((key) => key.toLowerCase().includes(wanted.toLowerCase()))
  return (
    <>
      {keys.length > 10 && (
        <input
          type="search"
          class="sift"
          aria-label="only those with"
          placeholder="only those with …"
          autocomplete="off"
          value={wanted}
          onInput={({ currentTarget }) => setWanted(currentTarget.value)}
        />
      )}
      <ul class="keys">
        {found.slice(0, SHOWN_MAX).map((key) => (
          <li key={key}>
            <button
              type="button"
              class="key"
              {...(key === current ? { 'aria-current': 'true' } : {})}
              onClick={() => onOpen(key)}
            >
              {key}
            </button>
          </li>
        ))}
      </ul>
      {found.length > SHOWN_MAX && <p class="nothing">{`${SHOWN_MAX} of ${found.length} are shown`}</p>}
    </>
  )
}

interface BrowseProps {
  /** The heading. */
  readonly title: string
  readonly call: Call
  readonly acts: (again: () => void) => ComponentChildren
  /** Renders the details of one name. `onGone`: call this when the object no longer exists. */
  readonly detail: (key: string, onGone: () => void) => ComponentChildren
}

/** A list of named objects, with the details of one of them. */
export const Browse = ({ title, call, acts, detail }: BrowseProps) => {
  const { value, error, again } = useRead(call)
  const [chosen, setChosen] = useState<string | undefined>()
  const keys = value ? keysOf(value) : []
  return (
    <div class="kv">
      <section aria-label={title}>
        <h3>{title}</h3>
        {error !== '' && <p class="error">{error}</p>}
        {value && keys.length === 0 && <p class="nothing">There is none.</p>}
        <Keys keys={keys} current={chosen} onOpen={setChosen} />
        <p class="acts">
          <button type="button" onClick={again}>
            Look again
          </button>
          {acts(again)}
        </p>
      </section>
      {chosen !== undefined && (
        <section key={chosen} class="secret-view" aria-label={chosen}>
          <h3>{chosen}</h3>
          {detail(chosen, () => {
            setChosen(undefined)
            again()
          })}
        </section>
      )}
    </div>
  )
}

const factsOf = (data: unknown): readonly (readonly [string, unknown])[] =>
  Object.entries(typeof data === 'object' && data !== null ? data : {}).filter(
    ([, fact]) => fact !== null && fact !== '' && !(Array.isArray(fact) && fact.length === 0),
  )

/** Shows a response as lines of facts. Lists are shown on one line, and empty values are omitted. */
export const Facts = ({ call }: { readonly call: Call }) => {
  const { value, error } = useRead(call)
  if (!value) return <p class={error === '' ? 'nothing' : 'error'}>{error || 'asking …'}</p>
  const { data } = value
  return (
    <dl class="facts">
      {factsOf(data).map(([name, fact]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <code>
              {Array.isArray(fact) ? fact.join(', ') : typeof fact === 'string' ? fact : JSON.stringify(fact)}
            </code>
          </dd>
        </div>
      ))}
    </dl>
  )
}
