import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Call, keysOf, partOf, textOf } from '../parts/api.js'
import { Button, Search } from '../parts/inputs.js'
import { Facts, Pending } from '../parts/table.js'
import { useCluster, useRead } from './context.js'

interface KeysProps {
  readonly keys: readonly string[]
  readonly current: string
  readonly onOpen: (key: string) => void
}

/** Maximum number of names in the list. If there are more, the user must filter them. */
const SHOWN_MAX = 200

/** A list of names. With many names, it has a filter. */
export const Keys = ({ keys, current, onOpen }: KeysProps) => {
  const [wanted, setWanted] = useState('')
  const found = keys.filter((key) => key.toLowerCase().includes(wanted.toLowerCase()))
  return (
    <>
      {keys.length > 10 && <Search label="Filter" value={wanted} onSearch={setWanted} />}
      <ul class="keys">
        {found.slice(0, SHOWN_MAX).map((key) => (
          <li key={key}>
            <Button
              class="key"
              label={key}
              aria-current={key === current ? 'true' : undefined}
              onClick={() => onOpen(key)}
            />
          </li>
        ))}
      </ul>
      {found.length > SHOWN_MAX && (
        <p class="nothing">{`Showing ${SHOWN_MAX} of ${found.length}. Use the filter to find others.`}</p>
      )}
    </>
  )
}

interface BrowseProps {
  readonly title: string
  readonly call: Call
  /** Text if the list is empty, with the next step. */
  readonly empty: string
  /** The beginning of the open item in the page address, before the name. */
  readonly within?: string
  readonly actions: (reload: () => void) => ComponentChildren
  /** Renders the details of one object. `onGone`: called after the object was deleted. */
  readonly detail: (key: string, onGone: () => void) => ComponentChildren
}

/** A list of named objects, with the details of one of them. */
export const Browse = ({ title, call, empty, within = '', actions, detail }: BrowseProps) => {
  const { value, error, reload } = useRead(call)
  const { item, openItem } = useCluster()
  const chosen = item.startsWith(within) ? item.slice(within.length) : ''
  const keys = value ? keysOf(value) : []
  return (
    <div class="kv">
      <section aria-label={title}>
        <h3>{title}</h3>
        {error !== '' && <p class="error">{error}</p>}
        {value && keys.length === 0 && <p class="nothing">{empty}</p>}
        <Keys keys={keys} current={chosen} onOpen={(key) => openItem(within + key)} />
        <p class="acts">
          <Button label="Refresh" onClick={reload} />
          {actions(reload)}
        </p>
      </section>
      {chosen !== '' && (
        <section key={chosen} class="secret-view" aria-label={chosen}>
          <h3>{chosen}</h3>
          {detail(chosen, () => {
            openItem(within)
            reload()
          })}
        </section>
      )}
    </div>
  )
}

/** The data in the response to a request, one field per line. Empty fields are omitted. */
export const CallFacts = ({ call }: { readonly call: Call }) => {
  const { value, error } = useRead(call)
  if (!value) return <Pending error={error} />
  const data = partOf(value, 'data')
  const facts = Object.keys(data).map((name) => [name, textOf(data, name)] as const)
  return <Facts facts={facts.filter(([, text]) => text !== '').map(([name, text]) => [name, <code>{text}</code>])} />
}
