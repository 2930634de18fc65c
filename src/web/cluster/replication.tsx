import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { PageKind } from '../../lab/web/page-facts.js'
import { get, type Json, listOf, partOf, textOf } from '../parts/api.js'
import { Facts, Pending, Table } from '../parts/table.js'
import { At, Secret } from '../parts/text.js'
import { KINDS } from '../parts/words.js'
import { ActButton, LOOK_MS, useCluster, useRead } from './context.js'
import { actsOf, decodeToken, factsOf, filterActs, filterPath, revokeAct, secondariesOf } from './replication-acts.js'
import { OneInput } from '../actions/field-input.js'
import { Button } from '../parts/inputs.js'

const TITLES: Readonly<Record<PageKind, string>> = { dr: 'Disaster recovery', performance: 'Performance' }

/** Both kinds of replication of one cluster, with all actions. The status needs no sign-in. */
export const Replication = () => {
  const { value, error, again } = useRead(get('sys/replication/status'), LOOK_MS)
  const { canWrite } = useCluster()
  const [operationToken, setOperationToken] = useState('')
  if (!value) return <Pending error={error} />
  const status = partOf(value, 'data')
  return (
    <>
      {error !== '' && <p class="error">{`last known state: ${error}`}</p>}
      <div class="kinds">
        {canWrite && textOf(partOf(status, 'dr'), 'mode') === 'secondary' && (
          <Ceremony token={operationToken} onToken={setOperationToken} />
        )}
        {KINDS.map((kind) => (
          <OfKind key={kind} kind={kind} all={status} operationToken={operationToken} onDone={again} />
        ))}
      </div>
    </>
  )
}

interface OfKindProps {
  readonly kind: PageKind
  /** Of both kinds. */
  readonly all: Json
  readonly operationToken: string
  readonly onDone: () => void
}

const OfKind = ({ kind, all, operationToken, onDone }: OfKindProps) => {
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
          actsFor={(id) => (
            <>
              <ActButton act={revokeAct(kind, id)} of={id} onDone={onDone} />
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
        {actsOf(kind, all, operationToken).map((act) => (
          <ActButton key={act.path} act={act} onDone={onDone} />
        ))}
      </p>
    </section>
  )
}

interface PeersProps {
  readonly caption: string
  /** Shown if there are no rows. */
  readonly empty: string
  /** The rows of the secondaries or primaries in the status. */
  readonly peers: readonly Json[]
  readonly actsFor?: (id: string) => ComponentChildren
}

const Peers = ({ caption, empty, peers, actsFor }: PeersProps) =>
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
          <At time={textOf(peer, 'last_heartbeat')} />,
          textOf(peer, 'api_address'),
          textOf(peer, 'cluster_address'),
        ],
        acts: actsFor?.(textOf(peer, 'node_id')),
      }))}
    />
  )

/** The path filter of a performance secondary. It is loaded only after sign-in. */
const Filter = ({ id }: { readonly id: string }) => {
  const { session } = useCluster()
  const { value, again } = useRead(session ? get(filterPath(id)) : undefined)
  const filter = partOf(value ?? {}, 'data')
  const mode = textOf(filter, 'mode')
  return (
    <>
      {mode !== '' && <span class="filter">{`${mode}: ${listOf(filter, 'paths').join(', ')}`}</span>}
      {filterActs(id, filter).map((act) => (
        <ActButton key={act.method} act={act} of={id} onDone={again} />
      ))}
    </>
  )
}

const CEREMONY = 'sys/replication/dr/secondary/generate-operation-token'

interface CeremonyProps {
  /** Empty if there is none. */
  readonly token: string
  readonly onToken: (token: string) => void
}

/**
 * Generates an operation token of a DR secondary. One user starts the attempt. The holders of key shares submit them one
 * after another, from any page. The user with the one-time password decodes the token.
 */
const Ceremony = ({ token, onToken }: CeremonyProps) => {
  const { ask } = useCluster()
  const { value: attempt, error, again } = useRead(get(`${CEREMONY}/attempt`), LOOK_MS)
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
    setPassword(textOf(await ask({ method: 'POST', path: `${CEREMONY}/attempt`, body: '{}' }), 'otp'))
  const give = async (key: string) => {
    const body = JSON.stringify({ key, nonce: textOf(attempt ?? {}, 'nonce') })
    const made = textOf(await ask({ method: 'POST', path: `${CEREMONY}/update`, body }), 'encoded_token')
    setEncoded(made)
    open(made, password)
  }
  const cancel = async () => {
    await ask({ method: 'DELETE', path: `${CEREMONY}/attempt` })
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
