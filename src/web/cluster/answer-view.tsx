import { useEffect, useRef } from 'preact/hooks'
import { Copy } from '../parts/copy.js'
import { answerRows, warningsOf } from './answer.js'
import type { Json } from './call.js'
import { Secret } from './secret.js'

/** Shows a response until the user closes it. */
export const Answer = ({ answer, onClose }: { readonly answer: Json; readonly onClose: () => void }) => {
  const close = useRef<HTMLButtonElement>(null)
  useEffect(() => close.current?.focus(), [])
  return (
    <div role="status">
      {warningsOf(answer).map((text) => (
        <p key={text} class="consequence">
          {text}
        </p>
      ))}
      <dl class="facts">
        {answerRows(answer).map(({ name, value, isSecret }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{isSecret ? <Secret what={name} value={value} /> : <Shown value={value} name={name} />}</dd>
          </div>
        ))}
      </dl>
      <p class="buttons">
        <button ref={close} type="button" class="main" onClick={onClose}>
          Close
        </button>
      </p>
    </div>
  )
}

const Shown = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <span class="secret">
    <code>{value}</code>
    <Copy command={value} what={name} />
  </span>
)
