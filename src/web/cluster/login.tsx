import { useState } from 'preact/hooks'
import { initialValues, type Values } from './acts.js'
import { FieldInput } from './field-input.js'
import { type Ask, logIn, type Session, type Way, WAYS } from './session.js'

export interface LoginProps {
  readonly ask: Ask
  readonly onSession: (session: Session) => void
}

const NAMESPACE = { name: 'namespace', label: 'Namespace', kind: 'text', hint: 'empty for the root' } as const

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
      <label class="field">
        <span>Way</span>
        <select
          value={way}
          onChange={({ currentTarget }) => {
            setWay(currentTarget.value as Way)
            setValues({})
          }}
        >
          {Object.entries(WAYS).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {[...(WAYS[way].fields ?? []), NAMESPACE].map((field) => (
        <FieldInput
          key={`${way} ${field.name}`}
          field={field}
          value={all[field.name] ?? ''}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
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
