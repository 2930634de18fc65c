import { useState } from 'preact/hooks'
import { OneInput } from '../actions/field-input.js'
import { get, textOf } from '../parts/api.js'
import { Button } from '../parts/inputs.js'
import { Secret } from '../parts/text.js'
import { LOOK_MS, useCluster, useRead } from './context.js'
import { decodeToken } from './replication-acts.js'

const ROOT = 'sys/replication/dr/secondary/generate-operation-token'

interface CeremonyProps {
  /** Empty if there is none. */
  readonly token: string
  readonly onToken: (token: string) => void
}

/**
 * Generates an operation token of a DR secondary. One user starts the ceremony. The holders of key shares submit them
 * one after another, from any place. The owner of the one-time password decodes the token.
 */
export const Ceremony = ({ token, onToken }: CeremonyProps) => {
  const { ask } = useCluster()
  const { value: attempt, error, again } = useRead(get(`${ROOT}/attempt`), LOOK_MS)
  const [password, setPassword] = useState('')
  const [encoded, setEncoded] = useState('')
  const [problem, setProblem] = useState('')
  const open = (made: string, secret: string) => {
    if (made === '' || secret === '') return
    onToken(decodeToken(made, secret))
    setEncoded('')
    setPassword('')
  }
  const step = (work: Promise<void>): Promise<void> => {
    setProblem('')
    return work.catch((failure: Error) => setProblem(failure.message)).finally(again)
  }
  const begin = async () =>
    setPassword(textOf(await ask({ method: 'POST', path: `${ROOT}/attempt`, body: '{}' }), 'otp'))
  const give = async (key: string) => {
    const body = JSON.stringify({ key, nonce: textOf(attempt ?? {}, 'nonce') })
    const made = textOf(await ask({ method: 'POST', path: `${ROOT}/update`, body }), 'encoded_token')
    setEncoded(made)
    open(made, password)
  }
  const cancel = async () => {
    await ask({ method: 'DELETE', path: `${ROOT}/attempt` })
    setPassword('')
  }
  return (
    <section class="ceremony" aria-labelledby="ceremony-title">
      <h4 id="ceremony-title">Operation token</h4>
      <p class="hint">Operations on a DR secondary require an operation token, which key shares generate.</p>
      {token !== '' && (
        <p class="made">
          The token is generated, and the forms contain it: <Secret what="operation token" value={token} />
        </p>
      )}
      {attempt && (
        <p role="status">
          {attempt.started === true
            ? `${textOf(attempt, 'progress')} of ${textOf(attempt, 'required')} key shares are submitted${password === '' ? '; another user started the attempt' : ''}`
            : ''}
        </p>
      )}
      {attempt?.started === true ? (
        <>
          <OneInput kind="secret" label="Key share" button="Submit share" onSubmit={(key) => step(give(key))} />
          <p class="buttons">
            <Button label="Cancel attempt" onClick={() => step(cancel())} />
          </p>
        </>
      ) : (
        <p class="buttons">
          <Button
            label={token === '' ? 'Generate an operation token' : 'Generate another token'}
            onClick={() => step(begin())}
          />
        </p>
      )}
      {encoded !== '' && (
        <OneInput
          kind="secret"
          label="One-time password of the attempt"
          button="Decode the token"
          onSubmit={(secret) => step(Promise.resolve().then(() => open(encoded, secret)))}
        />
      )}
      <p role="alert" class="error">
        {problem || error}
      </p>
    </section>
  )
}
