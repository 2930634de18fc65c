import { useState } from 'preact/hooks'
import { Copy } from '../parts/copy.js'

/** Something that not everybody in the room has to read: shown when that is wanted, and copied without being shown. */
export const Secret = ({ what, value }: { readonly what: string; readonly value: string }) => {
  const [isShown, setShown] = useState(false)
  return (
    <span class="secret">
      <code>{isShown ? value : '••••••••'}</code>
      <button
        type="button"
        aria-expanded={isShown}
        aria-label={`${isShown ? 'hide' : 'show'} ${what}`}
        onClick={() => setShown(!isShown)}
      >
        {isShown ? 'hide' : 'show'}
      </button>
      <Copy command={value} what={what} />
    </span>
  )
}
