import { useState } from 'preact/hooks'

/** How long it says that it was copied. */
const SAID_MS = 1500

/** A button that copies a line for a shell, or something that is better not read aloud and has a name: `what`. */
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
