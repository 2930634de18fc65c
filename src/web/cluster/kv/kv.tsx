import { useState } from 'preact/hooks'
import { ActButton } from '../act-button.js'
import { Keys } from '../browse.js'
import { get, keysOf } from '../call.js'
import { useRead } from '../means.js'
import { kvMountsOf, type KvMount, listCall, newAct } from './kv-acts.js'
import { KvSecret } from './kv-secret.js'

/** The current location. It is not part of the page address or the browser history. */
interface Place {
  readonly mount?: string
  /** Ends with a slash, or is empty. */
  readonly folder: string
  readonly name?: string
}

/** Shows the secrets of the key/value engines. */
export const Kv = () => {
  const { value, error } = useRead(get('sys/internal/ui/mounts'))
  const [place, setPlace] = useState<Place>({ folder: '' })
  if (!value) return <p class={error === '' ? 'nothing' : 'error'}>{error || 'asking …'}</p>
  const mounts = kvMountsOf(value)
  const mount = mounts.find(({ path }) => path === place.mount) ?? mounts[0]
  if (!mount) return <p class="nothing">There is no key/value engine that this token may see.</p>
  return (
    <div class="kv">
      <section aria-label="secrets">
        <label class="field">
          <span>Engine</span>
          <select
            value={mount.path}
            onChange={({ currentTarget }) => setPlace({ mount: currentTarget.value, folder: '' })}
          >
            {mounts.map(({ path, version }) => (
              <option key={path} value={path}>{`${path} (version ${version})`}</option>
            ))}
          </select>
        </label>
        <Folder key={mount.path + place.folder} mount={mount} place={place} onPlace={setPlace} />
      </section>
      {place.name !== undefined && <KvSecret key={mount.path + place.name} mount={mount} name={place.name} />}
    </div>
  )
}

interface FolderProps {
  readonly mount: KvMount
  readonly place: Place
  readonly onPlace: (place: Place) => void
}

const parentOf = (folder: string): string => folder.replace(/[^/]*\/$/, '')

const Folder = ({ mount, place, onPlace }: FolderProps) => {
  const { folder } = place
  const { value, error, again } = useRead(listCall(mount, folder))
  const keys = value ? keysOf(value) : []
  const go = (to: Omit<Place, 'mount'>) => onPlace({ mount: mount.path, ...to })
  return (
    <>
      <p class="where">
        <code>{mount.path + folder}</code>
        {folder !== '' && (
          <button type="button" onClick={() => go({ folder: parentOf(folder) })}>
            Up
          </button>
        )}
        <button type="button" onClick={again}>
          Look again
        </button>
      </p>
      {error !== '' && <p class="error">{error}</p>}
      {value && keys.length === 0 && <p class="nothing">There is nothing here.</p>}
      <Keys
        keys={keys}
        current={place.name?.slice(folder.length)}
        onOpen={(key) => go(key.endsWith('/') ? { folder: folder + key } : { folder, name: folder + key })}
      />
      <OpenByName folder={folder} onOpen={(name) => go({ folder, name })} />
      <p class="acts">
        <ActButton act={newAct(mount, folder)} onDone={again} />
      </p>
    </>
  )
}

/** Opens a secret by name, because a token may permit reading a secret but not listing its folder. */
const OpenByName = ({ folder, onOpen }: { readonly folder: string; readonly onOpen: (name: string) => void }) => {
  const [name, setName] = useState('')
  return (
    <form
      class="open"
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (name.trim() !== '') onOpen(folder + name.trim())
      }}
    >
      <label class="field">
        <span>Name</span>
        <input
          autocomplete="off"
          spellcheck={false}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <button type="submit">Open</button>
    </form>
  )
}
