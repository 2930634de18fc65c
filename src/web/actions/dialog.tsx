import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Json } from '../parts/api.js'
import { Button, useTask } from '../parts/inputs.js'
import { Facts } from '../parts/table.js'
import { CommandLine, Secret, ShellLine, CopyableValue } from '../parts/text.js'
import { type Action, responseRows, initialValues, type Plan, type Values, warningsOf } from './action.js'
import { FieldInput } from './field-input.js'

interface DialogProps {
  /** The only action. Absent if the user chooses one from the menu. */
  readonly only?: Action | undefined
  readonly menu?: readonly Action[]
  /** The title of the dialog while it shows the menu. */
  readonly title?: string
  /** Called with the response. */
  readonly onDone?: ((response: Json) => void) | undefined
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
  const [response, setResponse] = useState<Json | undefined>()
  useEffect(() => element.current?.showModal(), [])
  const close = () => element.current?.close()
  const action = only ?? chosen
  const done = (json: Json) => {
    onDone?.(json)
    if (action?.isQuiet || responseRows(json).length + warningsOf(json).length === 0) close()
    else setResponse(json)
  }
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{action?.title ?? title}</h2>
      {response && <ResponseView response={response} onClose={close} />}
      {!response && action && (
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
  readonly onDone: (response: Json) => void
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
  const { plan, shown, isLoading } = usePlan(action, values, (result) => {
    setProblem(result instanceof Error ? result.message : '')
    if (!(result instanceof Error) && action.isAtOnce && !result.isDestructive) run()
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
      {isLoading && !shown && problem === '' && <p>Loading the plan …</p>}
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
 * Plans an action again whenever the input changes. `plan`: the plan of the present input; undefined until it is known.
 * `shown`: also the previous plan until then. `onPlan` receives each plan, or its error, that a server returns.
 */
const usePlan = (action: Action, values: Values, onPlan: (result: Plan | Error) => void) => {
  const [received, setReceived] = useState<{ readonly of: unknown; readonly plan: Plan } | undefined>()
  const planned = useMemo(() => action.plan(values), [values])
  useLayoutEffect(() => {
    if (!(planned instanceof Promise)) {
      setReceived(undefined)
      return undefined
    }
    let isOver = false
    const settle = (result: Plan | Error) => {
      if (isOver) return
      setReceived(result instanceof Error ? undefined : { of: planned, plan: result })
      onPlan(result)
    }
    planned.then(settle, settle)
    return () => {
      isOver = true
    }
  }, [planned])
  if (!(planned instanceof Promise)) return { plan: planned, shown: planned, isLoading: false }
  return { plan: received?.of === planned ? received.plan : undefined, shown: received?.plan, isLoading: true }
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
export const ResponseView = ({ response, onClose }: { readonly response: Json; readonly onClose: () => void }) => {
  const close = useRef<HTMLButtonElement>(null)
  useEffect(() => close.current?.focus(), [])
  return (
    <div role="status">
      {warningsOf(response).map((text) => (
        <p key={text} class="consequence">
          {text}
        </p>
      ))}
      <Facts
        facts={responseRows(response).map(({ name, value, isSecret }) => [
          name,
          isSecret ? <Secret what={name} value={value} /> : <CopyableValue what={name} value={value} />,
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
