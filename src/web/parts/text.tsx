import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './inputs.js'
import { DAY_AND_TIME } from './times.js'

/** A time of a server in the user's time zone. A text that is not a time is shown unchanged. */
export const LocalTime = ({ time }: { readonly time: string }) => {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) return <>{time}</>
  return <time dateTime={time}>{DAY_AND_TIME.format(ms)}</time>
}

/** Time for which the button shows the result of a copy, in milliseconds. */
const COPIED_MS = 1500

interface CopyProps {
  readonly text: string
  /** Accessible name of the text (default: the text itself). Required for secrets. */
  readonly what?: string | undefined
}

/** A button that copies a shell line or a secret. */
export const Copy = ({ text, what = text }: CopyProps) => {
  const [label, setLabel] = useState('Copy')
  const showResult = (result: string) => {
    setLabel(result)
    window.setTimeout(() => setLabel('Copy'), COPIED_MS)
  }
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => showResult('Copied'),
      () => showResult('Select the text'),
    )
  return <Button label={label} aria-label={`${label}: ${what}`} onClick={copy} />
}

/** A shell line. It wraps between words, and after a slash only if a word is longer than a line. */
export const ShellLine = ({ text }: { readonly text: string }) => (
  <code>
    {text.split(' ').map((word, index) => (
      <Fragment key={index}>
        {index > 0 && ' '}
        <span class="word-of-line">
          {word.split(/(?<=\/)/).map((part, place) => (
            <Fragment key={place}>
              {place > 0 && <wbr />}
              {part}
            </Fragment>
          ))}
        </span>
      </Fragment>
    ))}
  </code>
)

/** A shell line with a button that copies it. */
export const CommandLine = ({ text, what }: CopyProps) => (
  <div class="command">
    <ShellLine text={text} />
    <Copy text={text} what={what} />
  </div>
)

interface ValueProps {
  readonly what: string
  readonly value: string
}

/** A value with a button that copies it. `fact`: the `data-fact` attribute, by which tests find the value. */
export const CopyableValue = ({ what, value, fact }: ValueProps & { readonly fact?: string }) => (
  <span class="secret">
    <code data-fact={fact}>{value}</code>
    {value !== '' && <Copy text={value} what={what} />}
  </span>
)

/** A hidden value that is shown on request, or copied without being shown. */
export const Secret = ({ what, value }: ValueProps) => {
  const [isShown, setShown] = useState(false)
  return (
    <span class="secret">
      <code>{isShown ? value : '••••••••'}</code>
      <Button
        label={isShown ? 'Hide' : 'Show'}
        aria-expanded={isShown}
        aria-label={`${isShown ? 'Hide' : 'Show'} ${what}`}
        onClick={() => setShown(!isShown)}
      />
      <Copy text={value} what={what} />
    </span>
  )
}
