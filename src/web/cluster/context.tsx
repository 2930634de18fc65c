import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiAction, toAction } from '../actions/action.js'
import { ActionDialog } from '../actions/dialog.js'
import type { Call, Json, Session } from '../parts/api.js'
import { Button } from '../parts/inputs.js'

/** What the views of a cluster share. */
interface ClusterContext {
  /** Sends a request as the signed-in user. Rejects with an Error whose message can be shown to the user. */
  readonly ask: (call: Call) => Promise<Json>
  readonly session: Session | undefined
  /** False on a read-only page. */
  readonly canWrite: boolean
  /** The open item of the view, which is part of the page address. Empty if none is open. */
  readonly item: string
  readonly openItem: (item: string) => void
}

/** The context of a component that is not inside the page of a cluster. */
export const NO_CLUSTER: ClusterContext = {
  ask: () => Promise.reject(new Error('no cluster is open')),
  session: undefined,
  canWrite: false,
  item: '',
  openItem: () => undefined,
}

const Context = createContext(NO_CLUSTER)

export const ClusterProvider = Context.Provider
export const useCluster = () => useContext(Context)

/** Time between two reads of a status, in milliseconds. */
export const STATUS_INTERVAL_MS = 2000

interface Reading {
  /** The last response; undefined until the first response to the present call. */
  readonly value: Json | undefined
  /** The error of the last request; empty if it succeeded. */
  readonly error: string
  /** Sends the request again. */
  readonly reload: () => void
}

/**
 * Returns the response to a call. Sends the request again when the call changes and, if set, every `everyMs`
 * milliseconds.
 */
export const useRead = (call: Call | undefined, everyMs?: number): Reading => {
  const { ask } = useCluster()
  const [state, setState] = useState<{ readonly key: string; readonly value?: Json; readonly error: string }>()
  const [round, setRound] = useState(0)
  const key = call === undefined ? '' : JSON.stringify(call)
  const current = useRef(call)
  current.current = call
  useEffect(() => {
    const { current: sent } = current
    if (!sent) return undefined
    let isOver = false
    let timer = 0
    const set = (next: { readonly value?: Json; readonly error: string }) => {
      if (isOver) return
      setState((before) => ({ key, ...(before?.key === key && before.value ? { value: before.value } : {}), ...next }))
      if (everyMs !== undefined) timer = window.setTimeout(send, everyMs)
    }
    const send = () =>
      void ask(sent).then(
        (value) => set({ value, error: '' }),
        (error: Error) => set({ error: error.message }),
      )
    send()
    return () => {
      isOver = true
      window.clearTimeout(timer)
    }
  }, [key, round, ask, everyMs])
  const reload = useCallback(() => setRound((before) => before + 1), [])
  const own = state?.key === key ? state : undefined
  return { value: own?.value, error: own?.error ?? '', reload }
}

interface ActionButtonProps {
  readonly action: ApiAction
  /** Added to the accessible label if several buttons have the same label. */
  readonly of?: string
  /** Called with the response. */
  readonly onDone?: (response: Json) => void
}

/** A button that opens the dialog of one action; nothing on a read-only page. */
export const ActionButton = ({ action, of, onDone }: ActionButtonProps) => {
  const { ask, canWrite } = useCluster()
  const [isOpen, setOpen] = useState(false)
  if (!canWrite) return null
  return (
    <>
      <Button
        label={action.label}
        aria-label={of === undefined ? undefined : `${action.label} ${of}`}
        onClick={() => setOpen(true)}
      />
      {isOpen && <ActionDialog only={toAction(action, ask, of)} onDone={onDone} onClose={() => setOpen(false)} />}
    </>
  )
}
