import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './inputs.js'

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false } as const

/** Format of local times. `TIME`: with tenths of a second. */
export const SHORT_TIME = new Intl.DateTimeFormat(undefined, CLOCK)
export const TIME = new Intl.DateTimeFormat(undefined, { ...CLOCK, fractionalSecondDigits: 1 })

/** The time zone of local times. */
export const { timeZone: ZONE } = TIME.resolvedOptions()

/** Times that may be days ago, with their time zone. */
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  ...({ year: 'numeric', month: '2-digit', day: '2-digit' } as const),
  ...({ ...CLOCK, timeZoneName: 'short' } as const),
})

/** Shows a server time in the user's time zone. Other texts are shown unchanged. */
export const At = ({ time }: { readonly time: string }) => {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) return <>{time}</>
  return <time dateTime={time}>{DAY_AND_TIME.format(ms)}</time>
}

/** Duration of the "copied" message in milliseconds. */
const SAID_MS = 1500

interface CopyProps {
  readonly text: string
  /** Label of a value that must not be shown. */
  readonly what?: string | undefined
}

/** A button that copies a shell line or a secret. */
export const Copy = ({ text, what = text }: CopyProps) => {
  const [said, setSaid] = useState('Copy')
  const say = (word: string) => {
    setSaid(word)
    window.setTimeout(() => setSaid('Copy'), SAID_MS)
  }
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => say('Copied'),
      () => say('Select the text'),
    )
  return <Button label={said} aria-label={`${said}: ${what}`} onClick={copy} />
}

/** A shell line that wraps between words first, then after slashes. */
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

/** A value with a button that copies it. `fact`: the name of the value for tests. */
export const Shown = ({ what, value, fact }: ValueProps & { readonly fact?: string }) => (
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
