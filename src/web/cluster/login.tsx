import { useState } from 'preact/hooks'
import { field, initialValues, type Values } from '../actions/action.js'
import { FieldInput } from '../actions/field-input.js'
import type { Ask, Session } from '../parts/api.js'
import { ChooserField } from '../parts/inputs.js'
import { logIn, type Way, WAYS } from './session.js'

export interface LoginProps {
  readonly ask: Ask
  readonly onSession: (session: Session) => void
}

const NAMESPACE = field('text', 'namespace', 'Namespace', { hint: 'empty for the root' })

/** The sign-in form with the methods that the cluster supports. */
export const Login = ({ ask, onSession }: LoginProps) => {
  const [way, setWay] = useState<Way>('token')
  const [values, setValues] = useState<Values>({})
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const all = { ...initialValues(WAYS[way]), ...values }
  const enter = () => {
    setBusy(true)
    setProblem('')
    logIn(ask, way, all).then(onSession, (error: Error) => {
      setBusy(false)
      setProblem(error.message)
    })
  }
  return (
    <form
      class="login"
      autocomplete="off"
      aria-labelledby="login-title"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) enter()
      }}
    >
      <h3 id="login-title">Log in</h3>
      <ChooserField
        label="Way"
        value={way}
        options={Object.entries(WAYS).map(([name, { label }]) => [name, label] as const)}
        onChoose={(name) => {
          setWay(name as Way)
          setValues({})
        }}
      />
      {[...(WAYS[way].fields ?? []), NAMESPACE].map((one) => (
        <FieldInput
          key={`${way} ${one.name}`}
          field={one}
          value={all[one.name] ?? ''}
          onChange={(value) => setValues({ ...values, [one.name]: value })}
        />
      ))}
      <p class="buttons">
        <button type="submit" class="main" disabled={isBusy}>
          Log in
        </button>
      </p>
      <p role="alert" class="error">
        {problem}
      </p>
      <p class="hint">The token stays in the memory of this page: it is gone when the page is closed or reloaded.</p>
    </form>
  )
}
