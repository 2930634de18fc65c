import { useState } from 'preact/hooks'

/** Duration of the "copied" message in milliseconds. */
const SAID_MS = 1500

/** A button that copies a shell line or a secret. `what`: label of a value that must not be shown. */
export const Copy = ({ command, what = command }: { readonly command: string; readonly what?: string }) => {
  const [said, setSaid] = useState('copy')
  const say = (word: string) => {
    setSaid(word)
    window.setTimeout(() => setSaid('copy'), SAID_MS)
  }
  const copy = () =>
    navigator.clipboard.writeText(command).then(
      () => say('copied'),
      () => say('select it'),
    )
  return (
    <button type="button" aria-label={`${said}: ${what}`} onClick={copy}>
      {said}
    </button>
  )
}
