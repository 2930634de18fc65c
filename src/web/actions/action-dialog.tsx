import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { PageAction, PageChoices, PagePlan } from '../../lab/web/page-facts.js'
import { ConfirmButtons } from '../parts/confirm-buttons.js'
import { begin, choices, planOf } from './ask.js'
import { ActionForm, ForceBox } from './action-form.js'
import { type Offer, type Subject, titleOf } from './offers.js'
import { Copy } from '../parts/copy.js'
import { ShellLine } from '../parts/shell-line.js'

interface DialogProps {
  readonly subject: Subject
  readonly offers: readonly Offer[]
  /** The topology from which the lab was created. */
  readonly topology: string
  readonly onClose: () => void
}

/**
 * Asks for an action, and if the action is destructive or needs input, shows its plan for confirmation. Works with the
 * keyboard like any dialog: it traps the focus, Escape closes it, and the focus then returns to its previous element.
 */
export const ActionDialog = ({ subject, offers, topology, onClose }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  const [offer, setOffer] = useState<Offer | undefined>()
  useEffect(() => {
    element.current?.showModal()
  }, [])
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{titleOf(subject)}</h2>
      {offer ? (
        <Confirmation
          offer={offer}
          topology={topology}
          onBack={() => setOffer(undefined)}
          onDone={() => element.current?.close()}
        />
      ) : (
        <>
          {offers.length === 0 && <p>Nothing can be done to it as it is.</p>}
          <ul class="offers">
            {offers.map((one) => (
              <li key={one.label}>
                <button type="button" onClick={() => setOffer(one)}>
                  {one.label}
                </button>
              </li>
            ))}
          </ul>
          <p class="buttons">
            <button type="button" onClick={() => element.current?.close()}>
              Cancel
            </button>
          </p>
        </>
      )}
    </dialog>
  )
}

interface ConfirmationProps {
  readonly offer: Offer
  readonly topology: string
  readonly onBack: () => void
  readonly onDone: () => void
}

/** Returns true if the action runs at once, because it needs no input and destroys nothing. */
const isDoneAtOnce = ({ asks }: Offer, plan: PagePlan): boolean => asks === undefined && !plan.isDestructive

const Confirmation = ({ offer, topology, onBack, onDone }: ConfirmationProps) => {
  const [action, setAction] = useState<PageAction>(offer.action)
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const offered = useChoices(offer, setProblem)
  const form = useRef<HTMLFormElement>(null)
  // Sets the focus before the user can type, so that no key is lost. The checkbox that forces the action never gets it.
  useLayoutEffect(() => {
    const { current } = form
    ;(
      current?.querySelector<HTMLElement>('fieldset input, fieldset select') ?? current?.querySelector('button')
    )?.focus()
  }, [offered])
  const isSaid = offer.asks === undefined || action.ms !== undefined || (action.name ?? '') !== ''
  const doIt = () => {
    setBusy(true)
    begin(action).then(onDone, (error: Error) => {
      setBusy(false)
      setProblem(error.message)
    })
  }
  const { plan, shown } = usePlan(action, isSaid, (found) => {
    setProblem(found instanceof Error ? found.message : '')
    if (!(found instanceof Error) && isDoneAtOnce(offer, found)) doIt()
  })
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        if (plan && !isBusy) doIt()
      }}
    >
      <ActionForm offer={offer} topology={topology} action={action} choices={offered} onChange={setAction} />
      {shown && <PlanView plan={shown} />}
      {!shown && isSaid && problem === '' && <p>asking what it would do …</p>}
      {offer.canForce && <ForceBox action={action} onChange={setAction} />}
      <ConfirmButtons
        problem={problem}
        back="Back"
        onBack={onBack}
        isDestructive={plan?.isDestructive === true}
        isDisabled={!plan || isBusy}
      />
    </form>
  )
}

/** Requests the plan again whenever the input changes. The previous plan is shown until the response arrives. */
const usePlan = (
  action: PageAction,
  isSaid: boolean,
  onAnswer: (answer: PagePlan | Error) => void,
): { readonly plan: PagePlan | undefined; readonly shown: PagePlan | undefined } => {
  const [answered, setAnswered] = useState<{ readonly of: PageAction; readonly plan: PagePlan } | undefined>()
  useEffect(() => {
    if (!isSaid) {
      setAnswered(undefined)
      return undefined
    }
    const ask = new AbortController()
    const take = (answer: PagePlan | Error) => {
      if (ask.signal.aborted) return
      setAnswered(answer instanceof Error ? undefined : { of: action, plan: answer })
      onAnswer(answer)
    }
    planOf(action, ask.signal).then(take, take)
    return () => ask.abort()
  }, [action, isSaid])
  return { plan: answered?.of === action ? answered.plan : undefined, shown: answered?.plan }
}

const useChoices = ({ asks }: Offer, onProblem: (text: string) => void): PageChoices | undefined => {
  const [known, setKnown] = useState<PageChoices | undefined>()
  useEffect(() => {
    if (asks !== 'drill' && asks !== 'snapshot') return undefined
    const ask = new AbortController()
    choices(ask.signal).then(setKnown, (error: Error) => {
      if (!ask.signal.aborted) onProblem(error.message)
    })
    return () => ask.abort()
  }, [asks])
  return known
}

/** Shows the consequences of an action, and the equivalent shell lines. */
const PlanView = ({ plan: { title, consequence, command, lines } }: { readonly plan: PagePlan }) => (
  <div class="plan">
    <p>
      <strong>{`${title.charAt(0).toUpperCase()}${title.slice(1)}?`}</strong> {consequence}
    </p>
    {command !== null && (
      <div class="command">
        <ShellLine text={command} />
        <Copy command={command} />
      </div>
    )}
    {lines.length > 0 && (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by the keys
      <ol tabIndex={0} aria-label="what it does, one after the other">
        {lines.map((line, index) => (
          <li key={index}>
            <ShellLine text={line} />
          </li>
        ))}
      </ol>
    )}
  </div>
)
