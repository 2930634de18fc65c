import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { PageKind } from '../../lab/web/page-facts.js'
import { get, type Json, listOf, partOf, textOf } from '../parts/api.js'
import { Facts, Pending, Table } from '../parts/table.js'
import { At } from '../parts/text.js'
import { KINDS } from '../parts/words.js'
import { Ceremony } from './ceremony.js'
import { ActButton, LOOK_MS, useCluster, useRead } from './context.js'
import { actsOf, factsOf, filterActs, filterPath, revokeAct, secondariesOf } from './replication-acts.js'

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
          peers={secondariesOf(status)}
          actsFor={(id) => (
            <>
              <ActButton act={revokeAct(kind, id)} of={id} onDone={onDone} />
              {kind === 'performance' && <Filter id={id} />}
            </>
          )}
        />
      )}
      {mode === 'secondary' && <Peers caption="Primaries" peers={listOf(status, 'primaries') as readonly Json[]} />}
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
  /** The rows of the other side of links, from the status. */
  readonly peers: readonly Json[]
  readonly actsFor?: (id: string) => ComponentChildren
}

const Peers = ({ caption, peers, actsFor }: PeersProps) =>
  peers.length === 0 ? (
    <p class="nothing">{`${caption}: none`}</p>
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
