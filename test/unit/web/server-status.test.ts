import { describe, expect, it } from 'vitest'
import {
  eventsBetween,
  type ServerStatus,
  type ReplicationStatus,
  surveyOf,
} from '../../../src/web/feed/server-status.js'

/** The topology diagram of a single server, from its own status. */

const look = (more: Partial<ServerStatus> = {}): ServerStatus => ({
  ...{ at_ms: 1000, name: 'east', api_address: 'http://127.0.0.1:8200', initialized: true, sealed: false, node: null },
  ...{ requests: { handled: 9, refused: 1 }, dr: { mode: 'disabled' }, performance: { mode: 'disabled' } },
  lags: { secondaries: [], upstream: null },
  ...more,
})
const primary: ReplicationStatus = {
  ...{ mode: 'primary', state: 'running', last_wal: 40, known_secondaries: ['b', 'lost'] },
  secondaries: [{ node_id: 'b', api_address: 'http://127.0.0.1:8210', connection_status: 'connected' }],
}
const secondary: ReplicationStatus = {
  ...{ mode: 'secondary', state: 'stream-wals', connection_state: 'ready', last_remote_wal: 33, last_wal: 3 },
  primaries: [{ api_address: 'http://127.0.0.1:8230', connection_status: 'connected' }],
}
const lags: ServerStatus['lags'] = {
  secondaries: [{ kind: 'dr', secondary: 'b', entries: 2, ms: 1500 }],
  upstream: { entries: 4, ms: 800 },
}

describe('the picture of a server', () => {
  it('the diagram of a server shows a primary with all its secondaries, even unconnected ones', () => {
    const { clusters, links, problems } = surveyOf(look({ dr: primary, lags }))
    expect(clusters.map(({ name, isAnswering, apiAddress }) => [name, isAnswering, apiAddress])).toEqual([
      ['east', true, 'http://127.0.0.1:8200'],
      ['b', true, 'http://127.0.0.1:8210'],
      ['lost', false, ''],
    ])
    expect(clusters[0]?.dr).toEqual({ mode: 'primary', state: 'running', lastWal: 40 })
    expect(clusters[1]?.dr).toEqual({ mode: 'secondary', state: 'stream-wals', lastWal: 38 })
    expect(links).toEqual([
      {
        ...{ kind: 'dr', primary: 'east', secondary: 'b', state: 'stream-wals', connectionState: 'ready' },
        ...{ lagEntries: 2, lagSeconds: 1.5 },
      },
      expect.objectContaining({ secondary: 'lost', connectionState: 'disconnected', lagEntries: null }),
    ])
    expect(problems).toEqual(['the DR secondary lost is disconnected from east'])
  })

  it('the diagram of a server shows a secondary with its primary', () => {
    const { clusters, links, problems } = surveyOf(look({ performance: secondary, lags }))
    expect(clusters[1]).toMatchObject({
      ...{ name: 'performance primary', apiAddress: 'http://127.0.0.1:8230' },
      performance: { mode: 'primary', lastWal: 37 },
    })
    expect(links).toEqual([
      {
        ...{ kind: 'performance', primary: 'performance primary', secondary: 'east', state: 'stream-wals' },
        ...{ connectionState: 'ready', lagEntries: 4, lagSeconds: 0.8 },
      },
    ])
    expect(problems).toEqual([])
    const cut = { ...secondary, connection_state: 'transient_failure' }
    expect(surveyOf(look({ performance: cut })).problems.join()).toContain(
      'is disconnected from its performance primary',
    )
  })

  it('the diagram of a server distinguishes secondaries with equal ids or the name of the server', () => {
    const ids = (...known: string[]): ReplicationStatus => ({ mode: 'primary', known_secondaries: known })
    const { clusters, links } = surveyOf(look({ dr: ids('b'), performance: ids('b', 'east') }))
    expect(clusters.map(({ name }) => name)).toEqual(['east', 'b', 'b (performance)', 'east (performance)'])
    expect(links.map((one) => `${one.primary} ${one.secondary}`)).toEqual([
      'east b',
      'east b (performance)',
      'east east (performance)',
    ])
  })

  it('the diagram of a server shows a sealed, new or restarting server', () => {
    const closed = { name: '', dr: null, performance: null }
    expect(surveyOf(look({ ...closed, sealed: true }))).toMatchObject({
      clusters: [{ name: 'this server', isSealed: true, isInitialized: true }],
      problems: ['this server is sealed'],
    })
    expect(surveyOf(look({ ...closed, initialized: false, sealed: true })).clusters[0]?.isInitialized).toBe(false)
    expect(surveyOf(look({ ...closed, initialized: null, sealed: null })).problems).toEqual([])
  })

  it('the diagram of a server shows its node of several', () => {
    const node = { id: 'n2', state: 'standby', is_active: false, is_performance_standby: false, applied_index: 7 }
    const nodesOf = (more: object) => surveyOf(look({ node: { ...node, ...more } })).clusters[0]?.nodes
    expect(nodesOf({})).toMatchObject([{ name: 'n2', state: 'standby', appliedIndex: 7 }])
    expect(nodesOf({ is_performance_standby: true })).toMatchObject([{ state: 'performance-standby' }])
  })
})

describe('what happens to a server', () => {
  const happened = (before: ServerStatus, after: ServerStatus) =>
    eventsBetween(before, after, 4).map(({ id, kind, text }) => `${id} ${kind} ${text}`)

  it('the events of a server are the changes between two samples', () => {
    const follows = look({ dr: { ...secondary, state: 'merkle-sync' } })
    expect(happened(follows, look({ dr: secondary }))).toEqual([
      '5 replication dr stream: merkle-sync, ready -> stream-wals, ready',
    ])
    expect(happened(look({ dr: secondary }), look({ dr: primary }))).toEqual(['5 role dr: secondary -> primary'])
    const silent = { ...primary, secondaries: [] }
    expect(happened(look({ dr: primary }), look({ dr: silent }))).toEqual([
      '5 replication dr secondary b: connected -> disconnected',
    ])
    expect(happened(look(), look({ sealed: true }))).toEqual(['5 seal unsealed -> sealed'])
  })

  it('samples without a change or without data give no events', () => {
    expect(happened(look({ dr: primary }), look({ dr: primary, at_ms: 2000 }))).toEqual([])
    expect(happened(look({ dr: primary }), look({ dr: null, initialized: null, sealed: null }))).toEqual([])
  })
})
