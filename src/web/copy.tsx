import { useState } from 'preact/hooks'

/** How long it says that it was copied. */
const SAID_MS = 1500

/** A button that copies a line for a shell. */
export const Copy = ({ command }: { readonly command: string }) => {
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
    <button type="button" aria-label={`${said}: ${command}`} onClick={copy}>
      {said}
    </button>
  )
}
