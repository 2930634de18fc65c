import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { get, type Json, listOf, partOf, textOf } from '../parts/api.js'
import { Facts, Pending, Table } from '../parts/table.js'
import { At } from '../parts/text.js'
import { Ceremony } from './ceremony.js'
import { ActButton, LOOK_MS, useCluster, useRead } from './context.js'
import { actsOf, filterActs, filterPath, type Kind, KIND_TITLES, KINDS, revokeAct } from './replication-acts.js'
import { factsOf, type Peer, primariesOf, secondariesOf } from './replication-facts.js'

/** Both kinds of replication of one cluster, with all actions. The status needs no sign-in. */
export const Replication = () => {
  const { value, error, again } = useRead(get('sys/replication/status'), LOOK_MS)
  const { canWrite } = useCluster()
  const [operationToken, setOperationToken] = useState('')
  if (!value) return <Pending error={error} />
  const status = partOf(value, 'data')
  return (
    <>
      {error !== '' && <p class="error">{`this is how it was last: ${error}`}</p>}
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
  readonly kind: Kind
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
      <h3 id={`kind-${kind}`}>{KIND_TITLES[kind]}</h3>
      <Facts facts={factsOf(status).map(([name, value]) => [name, <code>{value}</code>])} />
      {mode === 'primary' && (
        <Peers
          caption="Secondaries"
          peers={secondariesOf(status)}
          actsFor={({ id }) => (
            <>
              <ActButton act={revokeAct(kind, id)} of={id} onDone={onDone} />
              {kind === 'performance' && <Filter id={id} />}
            </>
          )}
        />
      )}
      {mode === 'secondary' && <Peers caption="Primaries" peers={primariesOf(status)} />}
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
  readonly peers: readonly Peer[]
  readonly actsFor?: (peer: Peer) => ComponentChildren
}

const Peers = ({ caption, peers, actsFor }: PeersProps) =>
  peers.length === 0 ? (
    <p class="nothing">{`${caption}: none`}</p>
  ) : (
    <Table
      caption={caption}
      heads={['id', 'connection', 'last heartbeat', 'API', 'cluster address']}
      hasActs={actsFor !== undefined}
    >
      {peers.map((peer) => (
        <tr key={`${peer.id} ${peer.clusterAddress}`}>
          <th scope="row">{peer.id || '–'}</th>
          <td>{peer.connection}</td>
          <td>
            <At time={peer.lastHeartbeat} />
          </td>
          <td>{peer.apiAddress}</td>
          <td>{peer.clusterAddress}</td>
          {actsFor && <td class="acts">{actsFor(peer)}</td>}
        </tr>
      ))}
    </Table>
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
