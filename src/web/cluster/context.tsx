import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiAction, toAction } from '../actions/action.js'
import { ActionDialog } from '../actions/dialog.js'
import type { Call, Json, Session } from '../parts/api.js'
import { Button } from '../parts/inputs.js'

interface ClusterContext {
  /** Sends a request as the signed-in user. Rejects with an Error whose message can be shown to the user. */
  readonly ask: (call: Call) => Promise<Json>
  readonly session: Session | undefined
  /** False on a read-only page. */
  readonly canWrite: boolean
  /** The open item of the view, which is part of the page address. Empty if none is open. */
  readonly item: string
  readonly onItem: (item: string) => void
}

/** The values outside a view. */
export const NO_CLUSTER: ClusterContext = {
  ask: () => Promise.reject(new Error('there is no cluster here')),
  session: undefined,
  canWrite: false,
  item: '',
  onItem: () => undefined,
}

const Context = createContext(NO_CLUSTER)

export const ClusterProvider = Context.Provider
export const useCluster = () => useContext(Context)

/** Milliseconds between two reads of a status. */
export const LOOK_MS = 2000

interface Reading {
  /** The last response; undefined before the first one and after a change of the call. */
  readonly value: Json | undefined
  /** The error of the last request; empty if it succeeded. */
  readonly error: string
  readonly again: () => void
}

/** Returns the response to a call. Sends it again when the call changes, and every `everyMs` milliseconds if given. */
export const useRead = (call: Call | undefined, everyMs?: number): Reading => {
  const { ask } = useCluster()
  const [state, setState] = useState<{ readonly key: string; readonly value?: Json; readonly error: string }>()
  const [round, setRound] = useState(0)
  const key = call === undefined ? '' : JSON.stringify(call)
  const current = useRef(call)
  current.current = call
  useEffect(() => {
    const { current: asked } = current
    if (!asked) return undefined
    let isOver = false
    let timer = 0
    const set = (next: { readonly value?: Json; readonly error: string }) => {
      if (isOver) return
      setState((before) => ({ key, ...(before?.key === key && before.value ? { value: before.value } : {}), ...next }))
      if (everyMs !== undefined) timer = window.setTimeout(look, everyMs)
    }
    const look = () =>
      void ask(asked).then(
        (value) => set({ value, error: '' }),
        (error: Error) => set({ error: error.message }),
      )
    look()
    return () => {
      isOver = true
      window.clearTimeout(timer)
    }
  }, [key, round, ask, everyMs])
  const again = useCallback(() => setRound((before) => before + 1), [])
  const own = state?.key === key ? state : undefined
  return { value: own?.value, error: own?.error ?? '', again }
}

interface ActButtonProps {
  readonly act: ApiAction
  /** Added to the accessible label if several buttons have the same label. */
  readonly of?: string
  /** Called with the response. */
  readonly onDone?: (answer: Json) => void
}

/** Renders a button for one action; nothing on a read-only page. */
export const ActButton = ({ act, of, onDone }: ActButtonProps) => {
  const { ask, canWrite } = useCluster()
  const [isOpen, setOpen] = useState(false)
  if (!canWrite) return null
  return (
    <>
      <Button
        label={act.label}
        aria-label={of === undefined ? undefined : `${act.label} ${of}`}
        onClick={() => setOpen(true)}
      />
      {isOpen && <ActionDialog only={toAction(act, ask, of)} onDone={onDone} onClose={() => setOpen(false)} />}
    </>
  )
}
