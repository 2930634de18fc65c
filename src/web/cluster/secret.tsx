import { useState } from 'preact/hooks'
import { Copy } from '../parts/copy.js'

/** A hidden value that is shown on request, or copied without being shown. */
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
