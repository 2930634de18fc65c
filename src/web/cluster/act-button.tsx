import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Copy } from '../parts/copy.js'
import { ShellLine } from '../parts/shell-line.js'
import { ConfirmButtons } from '../parts/confirm-buttons.js'
import { type Act, callOf, initialValues, lineOf, type Values } from './acts.js'
import { answerRows, warningsOf } from './answer.js'
import type { Json } from './call.js'
import { Answer } from './answer-view.js'
import { FieldInput } from './field-input.js'
import { useMeans } from './means.js'

interface ActButtonProps {
  readonly act: Act
  /** Added to the label if several buttons have the same one. */
  readonly of?: string
  /** Called with the response. */
  readonly onDone?: (answer: Json) => void
}

/** Renders a button for one action; nothing on a read-only page. */
export const ActButton = ({ act, of, onDone }: ActButtonProps) => {
  const { canWrite } = useMeans()
  const [isOpen, setOpen] = useState(false)
  if (!canWrite) return null
  return (
    <>
      <button
        type="button"
        {...(of === undefined ? {} : { 'aria-label': `${act.label} ${of}` })}
        onClick={() => setOpen(true)}
      >
        {act.label}
      </button>
      {isOpen && <ActDialog act={act} of={of} onDone={onDone} onClose={() => setOpen(false)} />}
    </>
  )
}

interface ActDialogProps {
  readonly act: Act
  readonly of: string | undefined
  readonly onDone: ((answer: Json) => void) | undefined
  readonly onClose: () => void
}

/** Asks for the input of an action, shows the call, executes it and shows the response. Escape closes the dialog. */
const ActDialog = ({ act, of, onDone, onClose }: ActDialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  const title = useId()
  const [answer, setAnswer] = useState<Json | undefined>()
  useEffect(() => element.current?.showModal(), [])
  const close = () => element.current?.close()
  const done = (json: Json) => {
    onDone?.(json)
    if (act.isQuiet || answerRows(json).length + warningsOf(json).length === 0) close()
    else setAnswer(json)
  }
  return (
    <dialog ref={element} aria-labelledby={title} onClose={onClose}>
      <h2 id={title}>{[act.label.replace(' …', ''), of].filter((part) => part).join(' ')}</h2>
      {answer ? <Answer answer={answer} onClose={close} /> : <ActForm act={act} onDone={done} onCancel={close} />}
    </dialog>
  )
}

interface ActFormProps {
  readonly act: Act
  readonly onDone: (answer: Json) => void
  readonly onCancel: () => void
}

const ActForm = ({ act, onDone, onCancel }: ActFormProps) => {
  const { ask } = useMeans()
  const [values, setValues] = useState<Values>(() => initialValues(act))
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector<HTMLElement>('input, select, textarea, button')?.focus(), [])
  const fail = (error: unknown) => {
    setBusy(false)
    setProblem(error instanceof Error ? error.message : String(error))
  }
  const doIt = () => {
    try {
      const call = callOf(act, values)
      setBusy(true)
      setProblem('')
      ask(call).then(onDone, fail)
    } catch (error) {
      fail(error)
    }
  }
  return (
    <form
      ref={form}
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) doIt()
      }}
    >
      {act.consequence && <p class="consequence">{act.consequence}</p>}
      <fieldset disabled={isBusy}>
        {act.fields?.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            value={values[field.name] ?? ''}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
      </fieldset>
      <CallLine act={act} values={values} />
      <ConfirmButtons
        problem={problem}
        back="Cancel"
        onBack={onCancel}
        isDestructive={act.isDestructive === true}
        isDisabled={isBusy}
      />
    </form>
  )
}

/** Shows the call, as far as the current input determines it. */
const CallLine = ({ act, values }: { readonly act: Act; readonly values: Values }) => {
  let line = ''
  try {
    line = lineOf(act, values)
  } catch {
    return null
  }
  return (
    <div class="command">
      <ShellLine text={line} />
      <Copy command={line} what="the call" />
    </div>
  )
}
