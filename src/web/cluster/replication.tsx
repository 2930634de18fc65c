import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { PageKind } from '../../lab/web/page-facts.js'
import { get, type Json, listOf, partOf, textOf } from '../parts/api.js'
import { Facts, Pending, Table } from '../parts/table.js'
import { LocalTime, Secret } from '../parts/text.js'
import { KINDS } from '../parts/words.js'
import { ActionButton, STATUS_INTERVAL_MS, useCluster, useRead } from './context.js'
import {
  actionsOf,
  decodeToken,
  factsOf,
  filterActions,
  filterPath,
  revokeAction,
  secondariesOf,
} from './replication-actions.js'
import { OneInput } from '../actions/field-input.js'
import { Button } from '../parts/inputs.js'

const TITLES: Readonly<Record<PageKind, string>> = { dr: 'Disaster recovery', performance: 'Performance' }

/** Both kinds of replication of one cluster, with all actions. The status needs no sign-in. */
export const Replication = () => {
  const { value, error, reload } = useRead(get('sys/replication/status'), STATUS_INTERVAL_MS)
  const { canWrite } = useCluster()
  const [operationToken, setOperationToken] = useState('')
  if (!value) return <Pending error={error} />
  const status = partOf(value, 'data')
  return (
    <>
      {error !== '' && <p class="error">{`last known state: ${error}`}</p>}
      <div class="kinds">
        {canWrite && textOf(partOf(status, 'dr'), 'mode') === 'secondary' && (
          <OperationToken token={operationToken} onToken={setOperationToken} />
        )}
        {KINDS.map((kind) => (
          <KindSection key={kind} kind={kind} all={status} operationToken={operationToken} onDone={reload} />
        ))}
      </div>
    </>
  )
}

interface KindSectionProps {
  readonly kind: PageKind
  /** The status of both kinds. */
  readonly all: Json
  readonly operationToken: string
  readonly onDone: () => void
}

const KindSection = ({ kind, all, operationToken, onDone }: KindSectionProps) => {
  const status = partOf(all, kind)
  const mode = textOf(status, 'mode')
  return (
    <section class="kind" aria-labelledby={`kind-${kind}`} data-kind={kind} data-mode={mode}>
      <h3 id={`kind-${kind}`}>{TITLES[kind]}</h3>
      <Facts facts={factsOf(status).map(([name, value]) => [name, <code>{value}</code>])} />
      {mode === 'primary' && (
        <Peers
          caption="Secondaries"
          empty="No secondaries. Generate an activation token, and enable a secondary with it."
          peers={secondariesOf(status)}
          actionsFor={(id) => (
            <>
              <ActionButton action={revokeAction(kind, id)} of={id} onDone={onDone} />
              {kind === 'performance' && <Filter id={id} />}
            </>
          )}
        />
      )}
      {mode === 'secondary' && (
        <Peers
          caption="Primaries"
          empty='No primary. Use "Update the primary" to follow one.'
          peers={listOf(status, 'primaries') as readonly Json[]}
        />
      )}
      <p class="acts">
        {actionsOf(kind, all, operationToken).map((action) => (
          <ActionButton key={action.path} action={action} onDone={onDone} />
        ))}
      </p>
    </section>
  )
}

interface PeersProps {
  readonly caption: string
  /** The text that is shown if there are no rows. */
  readonly empty: string
  /** The rows of the secondaries or primaries in the status. */
  readonly peers: readonly Json[]
  readonly actionsFor?: (id: string) => ComponentChildren
}

const Peers = ({ caption, empty, peers, actionsFor }: PeersProps) =>
  peers.length === 0 ? (
    <p class="nothing">{empty}</p>
  ) : (
    <Table
      caption={caption}
      heads={['ID', 'Connection', 'Last heartbeat', 'API address', 'Cluster address']}
      rows={peers.map((peer) => ({
        key: `${textOf(peer, 'node_id')} ${textOf(peer, 'cluster_address')}`,
        cells: [
          textOf(peer, 'node_id') || '–',
          textOf(peer, 'connection_status'),
          <LocalTime time={textOf(peer, 'last_heartbeat')} />,
          textOf(peer, 'api_address'),
          textOf(peer, 'cluster_address'),
        ],
        actions: actionsFor?.(textOf(peer, 'node_id')),
      }))}
    />
  )

/** The path filter of a performance secondary. It is loaded only after sign-in. */
const Filter = ({ id }: { readonly id: string }) => {
  const { session } = useCluster()
  const { value, reload } = useRead(session ? get(filterPath(id)) : undefined)
  const filter = partOf(value ?? {}, 'data')
  const mode = textOf(filter, 'mode')
  return (
    <>
      {mode !== '' && <span class="filter">{`${mode}: ${listOf(filter, 'paths').join(', ')}`}</span>}
      {filterActions(id, filter).map((action) => (
        <ActionButton key={action.method} action={action} of={id} onDone={reload} />
      ))}
    </>
  )
}

const ATTEMPT_PATH = 'sys/replication/dr/secondary/generate-operation-token'

interface OperationTokenProps {
  /** The generated token. Empty until then. */
  readonly token: string
  readonly onToken: (token: string) => void
}

/**
 * The form that generates an operation token for a DR secondary. One user starts the attempt and gets a one-time
 * password. The holders of key shares submit them one after another, each from any page. The user who has the password
 * decodes the token.
 */
const OperationToken = ({ token, onToken }: OperationTokenProps) => {
  const { ask } = useCluster()
  const { value: attempt, error, reload } = useRead(get(`${ATTEMPT_PATH}/attempt`), STATUS_INTERVAL_MS)
  const [password, setPassword] = useState('')
  const [encoded, setEncoded] = useState('')
  const [problem, setProblem] = useState('')
  const decode = (encodedToken: string, otp: string) => {
    if (encodedToken === '' || otp === '') return
    onToken(decodeToken(encodedToken, otp))
    setEncoded('')
    setPassword('')
  }
  const runStep = (work: Promise<void>): Promise<void> => {
    setProblem('')
    return work.catch((failure: Error) => setProblem(failure.message)).finally(reload)
  }
  const startAttempt = async () =>
    setPassword(textOf(await ask({ method: 'POST', path: `${ATTEMPT_PATH}/attempt`, body: '{}' }), 'otp'))
  const submitShare = async (key: string) => {
    const body = JSON.stringify({ key, nonce: textOf(attempt ?? {}, 'nonce') })
    const encodedToken = textOf(await ask({ method: 'POST', path: `${ATTEMPT_PATH}/update`, body }), 'encoded_token')
    setEncoded(encodedToken)
    decode(encodedToken, password)
  }
  const cancelAttempt = async () => {
    await ask({ method: 'DELETE', path: `${ATTEMPT_PATH}/attempt` })
    setPassword('')
  }
  return (
    <section class="ceremony" aria-labelledby="ceremony-title">
      <h4 id="ceremony-title">Operation token</h4>
      <p class="hint">Operations on a DR secondary require an operation token, which key shares generate.</p>
      {token !== '' && (
        <p class="made">
          The token is generated and filled in below: <Secret what="operation token" value={token} />
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
          <OneInput
            kind="secret"
            label="Key share"
            button="Submit share"
            onSubmit={(key) => runStep(submitShare(key))}
          />
          <p class="buttons">
            <Button label="Cancel attempt" onClick={() => runStep(cancelAttempt())} />
          </p>
        </>
      ) : (
        <p class="buttons">
          <Button
            label={token === '' ? 'Generate an operation token' : 'Generate another token'}
            onClick={() => runStep(startAttempt())}
          />
        </p>
      )}
      {encoded !== '' && (
        <OneInput
          kind="secret"
          label="One-time password of the attempt"
          button="Decode the token"
          onSubmit={(otp) => runStep(Promise.resolve().then(() => decode(encoded, otp)))}
        />
      )}
      <p role="alert" class="error">
        {problem || error}
      </p>
    </section>
  )
}
