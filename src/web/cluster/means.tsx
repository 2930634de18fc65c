import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { Call, Json } from './call.js'
import type { Session } from './session.js'

/** With what the views of one cluster work. */
interface Means {
  /** Asks as whoever has logged in; rejects with an Error for people. */
  readonly ask: (call: Call) => Promise<Json>
  readonly session: Session | undefined
  /** False where the page is only to look at. */
  readonly canWrite: boolean
}

const MeansContext = createContext<Means>({
  ask: () => Promise.reject(new Error('there is no cluster here')),
  session: undefined,
  canWrite: false,
})

export const MeansProvider = MeansContext.Provider
export const useMeans = () => useContext(MeansContext)

interface Reading {
  /** What was answered last; undefined before the first answer and after a change of what is asked. */
  readonly value: Json | undefined
  /** Why there is no newer answer; empty where there is one. */
  readonly error: string
  /** Asks again. */
  readonly again: () => void
}

/** What a call is answered with, asked anew when the call is another one, and every so many milliseconds where that is said. */
export const useRead = (call: Call | undefined, everyMs?: number): Reading => {
  const { ask } = useMeans()
  const [state, setState] = useState<{ readonly key: string; readonly value?: Json; readonly error: string }>()
  const [round, setRound] = useState(0)
  const key = call === undefined ? '' : JSON.stringify(call)
  const current = useRef(call)
  current.current = call
  useEffect(() => {
    if (key === '') return undefined
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
