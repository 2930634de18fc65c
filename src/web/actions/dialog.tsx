import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Json } from '../parts/api.js'
import { Button, useTask } from '../parts/inputs.js'
import { Facts } from '../parts/table.js'
import { CommandLine, Secret, ShellLine, Shown } from '../parts/text.js'
import { type Action, answerRows, initialValues, type Plan, type Values, warningsOf } from './action.js'
import { FieldInput } from './field-input.js'

interface DialogProps {
  /** The only action. Absent if the user chooses one from the menu. */
  readonly only?: Action | undefined
  readonly menu?: readonly Action[]
  /** The title of the menu. */
  readonly title?: string
  /** Called with the response. */
  readonly onDone?: ((answer: Json) => void) | undefined
  readonly onClose: () => void
}

/**
 * Asks for an action and its input, shows its plan for confirmation, runs it and shows the response. Works with the
 * keyboard like any dialog: it traps the focus, Escape closes it, and the focus then returns to its previous element.
 */
export const ActionDialog = ({ only, menu = [], title = '', onDone, onClose }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [chosen, setChosen] = useState<Action | undefined>()
  const [answer, setAnswer] = useState<Json | undefined>()
  useEffect(() => element.current?.showModal(), [])
  const close = () => element.current?.close()
  const action = only ?? chosen
  const done = (json: Json) => {
    onDone?.(json)
    if (action?.isQuiet || answerRows(json).length + warningsOf(json).length === 0) close()
    else setAnswer(json)
  }
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{action?.title ?? title}</h2>
      {answer && <Answer answer={answer} onClose={close} />}
      {!answer && action && (
        <ActionForm
          action={action}
          back={only ? 'Cancel' : 'Back'}
          onBack={only ? close : () => setChosen(undefined)}
          onDone={done}
        />
      )}
      {!action && (
        <>
          {menu.length === 0 && (
            <p>No action is available now. If the servers do not respond, start them where they run.</p>
          )}
          <ul class="offers">
            {menu.map((one) => (
              <li key={one.label}>
                <Button label={one.label} onClick={() => setChosen(one)} />
              </li>
            ))}
          </ul>
          <p class="buttons">
            <Button label="Cancel" onClick={close} />
          </p>
        </>
      )}
    </dialog>
  )
}

interface FormProps {
  readonly action: Action
  /** The label of the button that leaves the form. */
  readonly back: string
  readonly onBack: () => void
  readonly onDone: (answer: Json) => void
}

const ActionForm = ({ action, back, onBack, onDone }: FormProps) => {
  const [fields, setFields] = useState(action.fields ?? [])
  const [values, setValues] = useState<Values>(() => initialValues({ fields }))
  const { problem, setProblem, isBusy, run: runTask } = useTask()
  const form = useRef<HTMLFormElement>(null)
  // Sets the focus before the user can type, so that no key press is lost. The force checkbox never gets the focus.
  useLayoutEffect(() => {
    const { current } = form
    const input = current?.querySelector<HTMLElement>('fieldset :is(input, select, textarea)')
    ;(input ?? current?.querySelector('button'))?.focus()
  }, [fields])
  useEffect(() => void action.load?.().then(setFields, (error: Error) => setProblem(error.message)), [])
  const run = () => runTask(action.run(values), onDone)
  const { plan, shown, isAsking } = usePlan(action, values, (found) => {
    setProblem(found instanceof Error ? found.message : '')
    if (!(found instanceof Error) && action.isAtOnce && !found.isDestructive) run()
  })
  const inputs = (isForce: boolean) =>
    fields
      .filter(({ kind }) => (kind === 'force') === isForce)
      .map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))
  return (
    <form
      ref={form}
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (plan && !isBusy) run()
      }}
    >
      {action.consequence && <p class="consequence">{action.consequence}</p>}
      <fieldset>
        <legend class="unseen">{action.label}</legend>
        {inputs(false)}
      </fieldset>
      {shown && <PlanView plan={shown} />}
      {isAsking && !shown && problem === '' && <p>Loading the plan …</p>}
      {inputs(true)}
      <p role="alert" class="error">
        {problem}
      </p>
      <p class="buttons">
        <Button label={back} onClick={onBack} />
        <button type="submit" class={plan?.isDestructive ? 'danger' : 'main'} disabled={!plan || isBusy}>
          {action.verb}
        </button>
      </p>
    </form>
  )
}

/**
 * Plans an action again whenever the input changes. The previous plan is shown until the response arrives. `onAnswer`
 * receives only plans from the server.
 */
const usePlan = (action: Action, values: Values, onAnswer: (answer: Plan | Error) => void) => {
  const [answered, setAnswered] = useState<{ readonly of: unknown; readonly plan: Plan } | undefined>()
  const made = useMemo(() => action.plan(values), [values])
  useLayoutEffect(() => {
    if (!(made instanceof Promise)) {
      setAnswered(undefined)
      return undefined
    }
    let isOver = false
    const take = (answer: Plan | Error) => {
      if (isOver) return
      setAnswered(answer instanceof Error ? undefined : { of: made, plan: answer })
      onAnswer(answer)
    }
    made.then(take, take)
    return () => {
      isOver = true
    }
  }, [made])
  if (!(made instanceof Promise)) return { plan: made, shown: made, isAsking: false }
  return { plan: answered?.of === made ? answered.plan : undefined, shown: answered?.plan, isAsking: true }
}

/** Shows the consequences of an action, and the equivalent shell lines. */
const PlanView = ({ plan: { consequence, command, what, steps = [] } }: { readonly plan: Plan }) => {
  if (consequence === undefined && command === undefined) return null
  return (
    <div class="plan">
      {consequence !== undefined && <p>{consequence}</p>}
      {typeof command === 'string' && <CommandLine text={command} what={what} />}
      {steps.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard user must be able to scroll it
        <ol tabIndex={0} aria-label="Steps">
          {steps.map((step, index) => (
            <li key={index}>
              {step.title}
              {step.command !== null && <ShellLine text={step.command} />}
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}

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
      <Facts
        facts={answerRows(answer).map(({ name, value, isSecret }) => [
          name,
          isSecret ? <Secret what={name} value={value} /> : <Shown what={name} value={value} />,
        ])}
      />
      <p class="buttons">
        <button ref={close} type="button" class="main" onClick={onClose}>
          Close
        </button>
      </p>
    </div>
  )
}
