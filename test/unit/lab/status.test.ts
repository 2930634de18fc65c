import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { ApiClient, ApiUnreachable } from '../../../src/client/api-client.js'
import { findReplicationLinks } from '../../../src/lab/drills/find/traffic.js'
import { linksOf, StatusCollector } from '../../../src/lab/drills/context/status-samples.js'
import type { ActiveFault } from '../../../src/lab/daemon/active-fault.js'
import { drawLabView } from '../../../src/lab/status/draw.js'
import { fitToWidth } from '../../../src/cli/commands/lab/status.js'
import { findLinks } from '../../../src/lab/status/links.js'
import {
  describeMode,
  lagOf,
  NO_STATUS,
  parseStatus,
  type ReplicationStatus,
} from '../../../src/lab/requests/replication-status.js'
import type { LiveLab } from '../../../src/lab/live/live-lab.js'
import { KeyRing } from '../../../src/lab/keys/key-ring.js'
import { findUnreplicated } from '../../../src/lab/library/findings.js'
import { describeSurvey } from '../../../src/lab/web/server/describe-page.js'
import { askNode } from '../../../src/lab/status/node-view.js'
import { TRANSITIONS } from '../../../src/server/nodes/machine.js'
import { askCluster, type ClusterView, type LabView, viewOf } from '../../../src/lab/status/observe.js'

const OFF: ReplicationStatus = { ...NO_STATUS, mode: 'disabled' }
const NOW = Date.parse('2026-01-01T00:00:10Z')
const set = { clusterId: 'set', merkleRoot: 'aa'.repeat(20) }
const primary: ReplicationStatus = { ...OFF, ...set, mode: 'primary', state: 'running', lastWal: 40, lastKindWal: 40 }
const secondary: ReplicationStatus = {
  ...OFF,
  ...set,
  mode: 'secondary',
  state: 'stream-wals',
  connectionState: 'ready',
  lastWal: 28,
  lastHeartbeat: '2026-01-01T00:00:08Z',
  ageMs: 3400,
}

const cluster = (name: string, roles: Partial<Pick<ClusterView, 'dr' | 'performance'>>, more = {}): ClusterView => ({
  name,
  apiAddress: `http://${name}`,
  process: 'running',
  pid: 7,
  health: 200,
  isInitialized: true,
  isSealed: false,
  dr: OFF,
  performance: OFF,
  problems: [],
  ...roles,
  ...more,
})

const VIEW: LabView = {
  ...{ apiVersion: 'understudy/v1', name: 'x', topology: 'x' },
  ...{ clusters: [], links: [], faults: [], problems: [] },
}

const draw = (clusters: readonly ClusterView[], faults: readonly ActiveFault[] = []): string[] => {
  const links = findLinks(clusters, faults, NOW)
  return drawLabView({ ...VIEW, clusters, links, faults }, NOW)
    .slice(1)
    .map((row) => row.slice(0, 6).join(' | '))
}

it('the status draws current primaries and secondaries with lag and equal roots', () => {
  const clusters = [
    cluster('A', { dr: secondary }),
    cluster('B', { dr: primary, performance: { ...primary, clusterId: 'other', merkleRoot: 'bb' } }),
    cluster('C', { performance: { ...secondary, clusterId: 'other', merkleRoot: 'cc', lastWal: 40 } }),
  ]
  expect(draw(clusters)).toEqual([
    'B | DR primary; performance primary | - | - | 40 | aaaaaaaaaaaa',
    '├── DR ──▶ A | DR secondary: stream-wals | 12 entries, 3.4 s | 2 s ago | 28 | aaaaaaaaaaaa = B',
    '└── performance ──▶ C | performance secondary: stream-wals | 0 | 2 s ago | 40 | cc',
  ])
})

it('the status shows no time for a secondary that lags and has heard from no primary', () => {
  const unheard = { ...secondary, connectionState: 'connecting', lastHeartbeat: '', ageMs: 0 }
  const row = draw([cluster('A', { dr: primary }), cluster('B', { dr: unheard })])[1]
  expect(row).toMatch(/\| 12 entries \|/)
})

it('the status distinguishes unknown roles from no replication', () => {
  const clusters = [cluster('A', {}), cluster('B', { dr: NO_STATUS, performance: NO_STATUS })]
  expect(draw(clusters).map((row) => row.split(' | ')[1])).toEqual(['no replication', 'roles unknown'])
})

it('the status draws a sealed secondary below the primary that expects it', () => {
  const sealed = cluster('B', { dr: NO_STATUS, performance: NO_STATUS }, { isSealed: true })
  expect(draw([cluster('A', { dr: { ...primary, knownSecondaries: ['dr-b'] } }), sealed])).toEqual([
    'A | DR primary | - | - | 40 | aaaaaaaaaaaa',
    '└── DR ──▶ B | sealed | ? | - | - | -',
  ])
  expect(draw([cluster('A', { dr: primary }), sealed])[1]).toMatch(/^B \| sealed/)
})

it('the status marks a node that a fault separates from another one', () => {
  const node = (name: string) => ({ name, state: 'standby', isActive: false, appliedIndex: 5, apiAddress: '' })
  const nodes = ['A1', 'A2', 'A3'].map((name) => ({ ...node(name), process: 'running', pid: 1 }))
  const cut: ActiveFault = { id: 1, between: ['A2', 'A1'], isOneWay: false, fault: { name: 'partition' } }
  const names = draw([cluster('A', { dr: primary }, { nodes })], [cut]).map((row) => row.split(' | ')[0])
  expect(names).toEqual(['A', '  A1 ✂ A2', '  A2 ✂ A1', '  A3'])
})

it('the status draws faults on their arrows', () => {
  const clusters = [cluster('A', { dr: primary }), cluster('B', { dr: secondary })]
  const fault = (id: number, name: 'partition' | 'hold', between: [string, string]): ActiveFault => ({
    id,
    between,
    isOneWay: false,
    fault: { name },
  })
  const late: ActiveFault = { id: 1, between: ['B', 'A'], isOneWay: true, fault: { name: 'latency', ms: 80 } }
  expect(draw(clusters, [late, fault(2, 'hold', ['A', 'C'])])[1]).toContain('└── DR ──80 ms──▶ B')
  expect(draw(clusters, [late, fault(2, 'hold', ['A', 'B'])])[1]).toContain('└── DR ──80 ms, hold──▶ B')
  expect(draw(clusters, [late, fault(2, 'partition', ['A', 'B'])])[1]).toContain('└── DR ──✂──▶ B')
})

it('the status draws the path filter of a secondary on its arrow', () => {
  const clusters = [cluster('A', { performance: primary }), cluster('C', { performance: secondary })]
  const filter = { mode: 'deny', paths: ['EU/', 'ns1/', 'ns2/', 'ns3/'] } as const
  const links = findLinks(clusters, [], NOW).map((link) => ({ ...link, filter }))
  const view: LabView = { ...VIEW, clusters, links }
  expect(drawLabView(view, NOW)[2]?.[0]).toBe('└── performance (deny EU/, ns1/, ns2/ and 1 more) ──▶ C')
})

it('the status draws unreachable, sealed and unconnected clusters once each', () => {
  expect(
    draw([
      cluster('A', {}, { process: 'stopped', pid: null, health: null }),
      cluster('B', { dr: { ...secondary, connectionState: 'transient_failure' } }),
      cluster('C', {}, { isSealed: true }),
      cluster('D', {}, { isInitialized: false }),
      cluster('E', {}),
    ]),
  ).toEqual([
    'A | stopped | - | - | - | -',
    'B | DR secondary: stream-wals, transient_failure | ? | 2 s ago | 28 | aaaaaaaaaaaa',
    'C | sealed | - | - | - | -',
    'D | not initialized | - | - | - | -',
    'E | no replication | - | - | - | -',
  ])
  // Each cluster is the primary of the other for a different kind, which is a misconfiguration.
  const round = [
    cluster('A', { dr: primary, performance: { ...secondary, clusterId: 'p' } }),
    cluster('B', { dr: secondary, performance: { ...primary, clusterId: 'p' } }),
  ]
  expect(draw(round)).toHaveLength(2)
})

it('the status draws a secondary below the primary that it follows if its set has two', () => {
  const at = (address: string, connected: string[] = []) => ({
    performance: {
      ...primary,
      primaryAddress: address,
      knownSecondaries: ['perf-c'],
      connectedSecondaries: connected,
    },
  })
  const follower = (address: string) => ({
    performance: { ...secondary, primaryAddress: address, secondaryId: 'perf-c' },
  })
  const names = (roles: readonly Parameters<typeof cluster>[1][]) =>
    draw(roles.map((role, index) => cluster('ABC'[index] ?? '', role))).map((row) => row.split(' |')[0])
  expect(names([at('https://a'), at('https://b'), follower('https://b')])).toEqual(['A', 'B', '└── performance ──▶ C'])
  expect(names([at('https://a'), at('https://b'), follower('https://a')])).toEqual(['A', '└── performance ──▶ C', 'B'])
  // Behind one address, or at an address that neither of them has: the connection identifies the primary.
  expect(names([at('https://lb'), at('https://lb', ['perf-c']), follower('https://lb')])[2]).toContain('C')
  expect(names([at('https://a', ['perf-x']), at('https://b', ['perf-c']), follower('https://lb')])).toEqual([
    'A',
    'B',
    '└── performance ──▶ C',
  ])
  // No name is better than a wrong one.
  expect(names([at('https://a'), at('https://b'), follower('https://lb')])).toEqual(['A', 'B', 'C'])
})

it('the status draws a secondary below no foreign primary that does not know it', () => {
  const roles = (knownSecondaries: string[]) => [
    cluster('A', { dr: { ...secondary, primaryAddress: 'https://b', secondaryId: 'dr-a' } }),
    cluster('B', { dr: { ...primary, primaryAddress: 'https://b', knownSecondaries } }),
    cluster('C', { dr: { ...secondary, primaryAddress: 'https://a', secondaryId: 'dr-c' } }),
  ]
  const names = (known: string[]) => draw(roles(known)).map((row) => row.split(' |')[0])
  expect(names(['dr-a'])).toEqual(['B', '└── DR ──▶ A', 'C'])
  expect(names(['dr-a', 'dr-c']), 'on its way to the address that B told').toEqual([
    'B',
    '├── DR ──▶ A',
    '└── DR ──▶ C',
  ])
})

it('the status omits whole columns on a narrow screen, and never the lag', () => {
  const header = ['cluster', 'state', 'lag', 'heartbeat', 'wal', 'merkle root', 'address', 'process']
  const row = [
    '└── DR ──▶ B',
    'DR secondary: stream-wals',
    '12 entries, 3.4 s',
    '2 s ago',
    '28',
    'aa',
    'http://b',
    'pid 7',
  ]
  const columnsAt = (width: number) => fitToWidth([header, row], width)
  const whole = 12 + 25 + 17 + 9 + 3 + 11 + 8 + 7 + 7 * 2
  expect(columnsAt(whole)).toEqual([header, row])
  expect(columnsAt(whole - 1)[0]).toEqual(header.slice(0, -1))
  expect(columnsAt(80)[0]).toEqual(['cluster', 'state', 'lag', 'heartbeat', 'wal'])
  expect(columnsAt(60)).toEqual([
    ['cluster', 'state', 'lag'],
    ['└── DR ──▶ B', 'DR secondary: stream-wals', '12 entries, 3.4 s'],
  ])
  expect(columnsAt(40)).toEqual([
    ['cluster', 'lag', 'state'],
    ['└── DR ──▶ B', '12 entries, 3.4 s', 'DR secondary: stream-wals'],
  ])
})

it('status shows odd values of a server as no values, never as NaN', async () => {
  const odd = {
    ...{ mode: 'secondary', state: {}, merkle_root: 'aa', last_remote_wal: 'x', last_dr_wal: { toString: 1 } },
    ...{ known_secondaries: [{}], secondaries: [null], secondary_id: { toString: 1 } },
    primaries: [{ last_heartbeat: 'x', replication_primary_canary_age_ms: {} }],
  }
  const read = async (path: string) => ({
    data: path === 'sys/replication/status' ? { dr: odd, performance: odd } : odd,
  })
  const send = async () => ({ status: 200, json: { initialized: true, sealed: false } })
  const view = await askCluster({ send, read } as unknown as ApiClient)
  expect(view.dr).toMatchObject({ lastWal: 0, lastKindWal: 0, ageMs: 0, lastHeartbeat: '', state: '{}' })
  expect(draw([cluster('A', view)]).join()).not.toMatch(/NaN|undefined|object/)
  expect(lagOf(parseStatus('dr', { mode: 'primary', last_dr_wal: 'x' }), secondary)).toBe(0)
  const modes = [{}, { mode: {} }, { mode: 'disabled' }].map((status) => describeMode(parseStatus('dr', status)))
  expect(modes).toEqual(['unknown', 'unknown', 'disabled'])
})

it('the status of a secondary has the age of its data, which the API reports as text', () => {
  const primaries = [{ last_heartbeat: '2026-01-01T00:00:08Z', replication_primary_canary_age_ms: '3400' }]
  const placed = { mode: 'secondary', state: 'stream-wals', connection_state: 'ready' }
  const behind = parseStatus('dr', { ...placed, cluster_id: 'set', primaries })
  const row = draw([cluster('A', { dr: primary }), cluster('B', { dr: behind })])[1]
  expect(row).toContain('40 entries, 3.4 s')
})

it('a secondary has a lag only while its position is in the log of its primary', () => {
  const [a, b] = ['https://a:8201', 'https://b:8201']
  const at = { ...primary, primaryAddress: b }
  const lags = (status: Partial<ReplicationStatus>) => lagOf(at, { ...secondary, ...status })
  expect(lags({ primaryAddress: b })).toBe(12)
  expect([lags({ state: 'merkle-diff' }), lags({ state: 'merkle-sync' }), lags({ state: 'idle' })]).toEqual([
    null,
    null,
    null,
  ])
  // Before it reaches B, it has the position in the log of A, in which it may even be beyond the end of the log of B.
  const lost = { connectionState: 'transient_failure', primaryAddress: a, heardAddress: a, lastWal: 28 }
  expect([lags(lost), lags({ ...lost, lastWal: 57 })]).toEqual([null, null])
  // A load balancer has another address than the primary.
  expect([lags({ ...lost, heardAddress: b }), lags({ ...lost, heardAddress: '' })]).toEqual([12, 12])
  expect(lags({ ...lost, connectionState: 'ready' })).toBe(12)
  // A primary without a configured address reports none.
  expect(lagOf({ ...at, primaryAddress: '' }, { ...secondary, ...lost })).toBe(12)
})

it('a cluster that responds and does not report its replication roles has a problem', async () => {
  const send = async () => ({ status: 200, json: { initialized: true, sealed: false } })
  const read = () => Promise.reject(new Error('no response within 1000 ms'))
  const { problems } = await askCluster({ send, read } as unknown as ApiClient)
  expect(problems).toEqual(['does not report its replication roles'])
})

it('the problem of a cluster that does not respond states the reason', async () => {
  const late = new ApiUnreachable('GET', 'http://127.0.0.1:8200/v1/sys/health', new Error('no response within 5000 ms'))
  const place = { name: 'A', apiAddress: 'http://127.0.0.1:8200', pid: 1 } as const
  const view = (process: 'running' | 'paused') => viewOf({ ...place, process }, () => Promise.reject(late))
  expect((await view('running')).problems).toEqual(['does not respond (no response within 5000 ms)'])
  expect((await view('paused')).problems).toEqual(['is paused'])
})

it('a secondary whose promotion has stopped its stream is not ahead of its primary', () => {
  const stopped = { mode: 'secondary', connection_state: 'shutdown', known_primary_cluster_addrs: ['https://a:8201'] }
  expect(parseStatus('dr', { ...stopped, state: 'stream-wals' }).isAhead).toBe(false)
  expect(parseStatus('dr', { ...stopped, state: 'idle' }).isAhead).toBe(true)
})

it('status names the way out for a secondary that is ahead of its primary', async () => {
  const answers: Readonly<Record<string, Record<string, unknown>>> = {
    'sys/health': { initialized: true, sealed: false },
    'sys/replication/performance/status': {
      data: {
        ...{ mode: 'secondary', state: 'idle', connection_state: 'shutdown', primary_cluster_addr: '' },
        known_primary_cluster_addrs: ['https://a:8201'],
      },
    },
  }
  const read = async (path: string) => answers[path] ?? { data: { mode: 'disabled' } }
  const send = async (_: string, path: string) => ({ status: 200, json: await read(path) })
  const { problems } = await askCluster({ send, read } as unknown as ApiClient)
  expect(problems).toEqual([
    'is ahead of its performance primary, which lost entries: recover or reindex with "force" discards the extra entries; promote keeps them',
  ])
})

it('a demoted cluster that follows no primary has no arrow, also if the new primary has registered it', () => {
  const detached = { ...secondary, state: 'idle', connectionState: 'shutdown', primaryAddress: '', secondaryId: 'dr-b' }
  const clusters = [cluster('A', { dr: { ...primary, knownSecondaries: ['dr-b'] } }), cluster('B', { dr: detached })]
  expect(findLinks(clusters, [], NOW)).toMatchObject([{ primary: null, secondary: 'B' }])
  expect(draw(clusters).map((row) => row.split(' | ')[0])).toEqual(['A', 'B'])
  expect(
    findLinks([clusters[0] as ClusterView, cluster('B', { dr: { ...detached, isAhead: true } })], [], NOW),
  ).toMatchObject([{ primary: 'A', secondary: 'B' }])
})

it('status, page, drill reports, drill find and library name the same primary of a secondary if there are two', async () => {
  const off = { mode: 'disabled' }
  const known = { mode: 'primary', cluster_id: 'set', known_secondaries: ['dr-c'] }
  const follower = { ...known, mode: 'secondary', secondary_id: 'dr-c', connection_state: 'ready' }
  const connected = { ...known, secondaries: [{ node_id: 'dr-c', connection_status: 'connected' }] }
  const drOf = new Map<string, object>([
    // C was partitioned and B was promoted with force. C has joined B.
    ['A', known],
    ['B', connected],
    ['C', { ...follower, primary_cluster_addr: 'https://b:8201' }],
  ])
  const clientOf = (name: string) => {
    const read = async (path: string) => {
      const dr = drOf.get(name) ?? off
      return { data: path === 'sys/replication/status' ? { dr, performance: off } : path.includes('/dr/') ? dr : off }
    }
    const send = async (_: string, path: string) =>
      path === 'sys/leader'
        ? { status: 200, json: { leader_cluster_address: `https://${name.toLowerCase()}:8201` } }
        : { status: 200, json: { initialized: true, sealed: false } }
    const client = { read, send, with: () => client, close: () => undefined }
    return client as unknown as ApiClient
  }
  const clusters = [...drOf.keys()].map((name) => ({ name }))
  const lab = { clusters, anonymous: clientOf } as unknown as LiveLab
  const views = await Promise.all(clusters.map(async ({ name }) => cluster(name, await askCluster(clientOf(name)))))
  const links = findLinks(views, [], NOW)
  const facts = { atMs: NOW, servers: new Map(), losses: [], before: [] }
  const page = describeSurvey({ topology: 'dr' } as never, { ...VIEW, clusters: views, links }, facts)
  const report = linksOf(await new StatusCollector(lab).collect())
  const found = [...links, ...page.links, ...report, ...(await findReplicationLinks(lab))].map(
    ({ kind, primary, secondary }) => `${secondary} follows ${primary} (${kind})`,
  )
  expect(found).toEqual(Array.from({ length: 4 }, () => 'C follows B (dr)'))

  const owners = clusters.map(({ name }) => ({
    ...{ name, apiAddress: `http://${name}`, caFile: undefined, isRunning: true, anonymous: clientOf(name) },
    clusterAddress: `https://${name.toLowerCase()}:8201`,
  }))
  const keys = new KeyRing(() => owners, systemClock)
  for (const { name } of owners) keys.set(name, { unsealKeys: [`share of ${name}`], threshold: 1 })
  await keys.follow()
  expect(keys.keysOf('C').unsealKeys).toEqual(['share of B'])
  const withoutB = owners.map((owner) => ({ ...owner, isRunning: owner.name !== 'B' }))
  expect(await findUnreplicated(withoutB, { links: [] })).toBe('C (dr): its primary B is not running')
})

it.each(Object.keys(TRANSITIONS))('the status of a lab has the state that a node reports: %s', async (state) => {
  const info = { node: { state, is_active: false, applied_index: 7 } }
  const exchange = async () => ({ status: 200, headers: {}, bytes: Buffer.from(JSON.stringify(info)) })
  const view = await askNode({ name: 'A1', apiAddress: 'http://a1' }, new ApiClient({ address: 'http://a1', exchange }))
  expect(view).toMatchObject({ state, appliedIndex: 7 })
})
