import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import {
  ApiClient,
  InProcessLab,
  type Lab,
  LabError,
  type LabEvent,
  loadTopology,
  startLab,
  systemClock,
  type Topology,
  waitFor,
} from '../../../src/index.js'

/** What a lab of a test provides: keys that follow the roles, operations, and health checks. */

type Dr = Lab<'A' | 'B'>

const STRANGERS = { name: 'strangers', about: 'two strangers', clusters: ['A', 'B'], links: [] } as const

const writeSecret = async (lab: Dr, on: 'A' | 'B', word: string): Promise<void> => {
  await lab[on].client.write('kv/greeting', { word })
}

const readSecret = async (lab: Dr, on: 'A' | 'B'): Promise<unknown> =>
  ((await lab[on].client.read('kv/greeting')).data as { word: unknown }).word

const startDr = async (): Promise<Dr> => {
  const lab = await startLab('dr')
  await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
  return lab
}

const codeAndText = async (work: () => Promise<unknown>): Promise<string> =>
  work().then(
    () => 'it worked',
    (error: unknown) => (error instanceof LabError ? `${error.code}: ${error.message}` : String(error)),
  )

describe('keys and tokens', () => {
  it('keys and tokens follow a failover and the return of the old primary', async () => {
    await using lab = await startDr()
    const held = lab.B.client
    const token = lab.A.rootToken
    await writeSecret(lab, 'A', 'before')
    await lab.converged()
    const lost = await lab.A.crash()
    expect(await codeAndText(() => lab.failover('A', 'B'))).toMatch(
      /^remote: A is down, and a failover to B may lose an unknown number of log entries \(last heartbeat from A: \d+ s ago\)/,
    )
    await lab.failover('A', 'B', { acceptLoss: 'any' })
    expect(lab.B.rootToken).toBe(token)
    expect(await readSecret(lab, 'B')).toBe('before')
    expect((await held.read('kv/greeting')).data).toEqual({ word: 'before' })
    await lost.start()
    await lab.rejoin('A', 'B')
    expect(lab.A.rootToken).toBe('')
    await writeSecret(lab, 'B', 'after')
    await lab.healthy()
    await lab.switchover('B', 'A')
    expect(lab.A.rootToken).toBe(token)
    expect(await readSecret(lab, 'A')).toBe('after')
  })

  it('keys and tokens stay if the lost primary is not the named one', async () => {
    await using lab = await startLab('pr-dr')
    await lab.converged()
    expect(await codeAndText(() => lab.failover('C', 'B'))).toBe(
      `remote: the DR primary of B is A, not C, and A is running: use "lab.failover('A', 'B')"`,
    )
    expect([(await lab.A.status('dr')).mode, (await lab.B.status('dr')).mode]).toEqual(['primary', 'secondary'])
  })

  it.each(['dr', 'performance'] as const)('keys and tokens follow a manually joined %s secondary', async (kind) => {
    await using lab = await startLab(STRANGERS)
    const former = lab.B.rootToken
    await lab.A.client.write(`sys/replication/${kind}/primary/enable`)
    const answer = await lab.A.client.write(`sys/replication/${kind}/primary/secondary-token`, { id: 'b' })
    const { token } = answer.wrap_info as { token: string }
    await lab.B.client.write(`sys/replication/${kind}/secondary/enable`, { token })
    expect(lab.B.unsealKeys).toEqual(lab.A.unsealKeys)
    expect(lab.B.rootToken).not.toBe(former)
    await lab.converged()
    await lab.B.stop()
    await lab.B.start()
    await lab.converged()
    if (kind === 'dr') {
      expect(await lab.B.token()).toBeUndefined()
      const dr_operation_token = await lab.operationToken('B')
      await lab.A.stop()
      await lab.B.anonymous.write('sys/replication/dr/secondary/promote', { dr_operation_token })
      expect(lab.B.client).toBeDefined()
    }
    expect((await lab.B.client.read('auth/token/lookup-self')).data).toMatchObject({ policies: ['root'] })
    expect(lab.B.rootToken).not.toBe('')
  })

  it('the lab finds a new root token after another client revoked the old one', async () => {
    await using lab = await startLab('single')
    const token = lab.A.rootToken
    await lab.A.anonymous.with({ token, onAnswer: undefined }).write('auth/token/revoke-self')
    expect((await lab.A.anonymous.send('GET', 'auth/token/lookup-self', { token })).status).toBe(403)
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    expect(lab.A.rootToken).not.toBe(token)
  })

  it('the lab does not replace keys and tokens after an unrelated rejection', async () => {
    await using lab = await startLab('single')
    const made = await lab.A.client.write('auth/token/create', { policies: ['default'] })
    const { client_token: token } = made.auth as { client_token: string }
    expect((await lab.A.client.with({ token }).send('GET', 'sys/mounts')).status).toBe(403)
  })
})

describe('operations', () => {
  it('operations activate a secondary with a filter, and show their calls', async () => {
    await using lab = await startLab(STRANGERS)
    await lab.A.client.write('sys/mounts/denied', { type: 'kv', options: { version: '1' } })
    await lab.A.client.write('denied/secret', { value: 1 })
    const calls: string[] = []
    await lab.activate('A', 'B', {
      kind: 'performance',
      filter: { mode: 'deny', paths: ['denied/'] },
      onCall: (line) => calls.push(line),
    })
    expect(calls).toContainEqual(expect.stringContaining('paths-filter/perf-b mode=deny paths=denied/'))
    expect(await lab.B.client.read('sys/mounts')).not.toHaveProperty('denied/')
    expect(await codeAndText(() => lab.activate('A', 'B', { kind: 'performance' }))).toContain('already')
  })

  it('a switchover does not promote a secondary whose data differs from the data of its primary', async () => {
    await using lab = await startLab('dr', { simulated: true })
    for (const [cluster, page] of [
      [lab.A, 3],
      [lab.B, 5],
    ] as const)
      await cluster.anonymous.call('POST', '/_understudy/v1/faults/corrupt', { body: { tree: 'replicated', page } })
    expect(await codeAndText(() => lab.switchover('A', 'B'))).toMatch(
      /^remote: B was not promoted, because its data differs; A is the DR primary again; .*lab\.rejoin\('B', 'A'\).*reindex/,
    )
    expect((await lab.A.status('dr')).mode).toBe('primary')
  })

  it('promote rejects a secondary that lacks writes of a live primary', async () => {
    await using lab = await startLab('dr', { simulated: true })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await lab.converged()
    const link = lab.link('A', 'B')
    for (const [round, operate] of [lab.failover, lab.switchover].entries()) {
      link.partition()
      await lab.A.client.write('kv/greeting', { word: `round ${round}` })
      const refused = await codeAndText(() => operate.call(lab, 'A', 'B'))
      expect(refused).toMatch(
        /^remote: B was not promoted, because writes would be lost; A is the DR primary again; .*"dr-b"/,
      )
      expect((await lab.A.client.read('kv/greeting')).data).toEqual({ word: `round ${round}` })
      link.heal()
      await lab.rejoin('B', 'A')
      await lab.converged()
    }
    link.partition()
    await lab.A.client.write('kv/greeting', { word: 'last' })
    await lab.A.client.write('sys/replication/dr/primary/demote', {})
    expect(await codeAndText(() => lab.failover('A', 'B'))).toMatch(
      /^remote: A is running as a demoted cluster, .*lab\.failover\('B', 'A'\)/,
    )
    expect(await codeAndText(() => lab.switchover('A', 'B'))).toBe(
      'remote: A is not a DR primary: it is a DR secondary',
    )
    await lab.failover('B', 'A')
    expect((await lab.A.client.read('kv/greeting')).data).toEqual({ word: 'last' })
  })

  it('start repeats the start of a simulated server that crashed during it', async () => {
    await using lab = await startLab('single', { simulated: true, seed: 77 })
    await lab.A.crash()
    await Promise.allSettled([lab.A.start(), lab.A.crash(), lab.A.start()])
    await lab.A.start()
    expect(await lab.A.client.read('sys/health')).toMatchObject({ initialized: true, sealed: false })
  })

  it('an error about an unknown cluster lists the existing ones', async () => {
    await using lab = await startLab(STRANGERS)
    const dynamic = lab as unknown as { failover(lost: string, to: string): Promise<void> }
    expect(await codeAndText(() => dynamic.failover('A', 'Z'))).toMatch(/^usage: .*no cluster Z; it has A, B/)
    expect(await codeAndText(() => lab.failover('A', 'A'))).toBe('usage: specify two different clusters')
    const untyped = lab as unknown as { failover(lost: string): Promise<void> }
    expect(await codeAndText(() => untyped.failover('A'))).toBe('usage: failover: the call requires "to"')
  })

  it('an error reports a pending operation token ceremony, and how to cancel it', async () => {
    await using lab = await startDr()
    await lab.converged()
    const attempt = 'sys/replication/dr/secondary/generate-operation-token/attempt'
    await lab.B.client.write(attempt)
    expect(await codeAndText(() => lab.operationToken('B'))).toBe(
      `conflict: another generation of an operation token is in progress: DELETE ${attempt} cancels it`,
    )
    await lab.B.client.delete(attempt)
    expect(await lab.operationToken('B')).toMatch(/./)
  })

  it('an error names the cluster that does not respond, and the next step', async () => {
    await using lab = await startDr()
    await lab.converged()
    const work = {
      failover: () => lab.failover('A', 'B'),
      switchover: () => lab.switchover('A', 'B'),
      rejoin: () => lab.rejoin('B', 'A'),
      activate: () => lab.activate('A', 'B', { kind: 'performance' }),
      token: () => lab.operationToken('B'),
    }
    await lab.B.crash()
    for (const [name, operation] of Object.entries(work))
      expect([name, await codeAndText(operation)]).toEqual([
        name,
        expect.stringMatching(
          /^remote: cluster B does not respond \(connection refused.* start it, because this operation requires it$/,
        ),
      ])
  })
})

describe('whether all is well', () => {
  const soon = { timeoutMs: 300 }

  it('a lab with a sealed primary is not converged, and the error names the cluster', async () => {
    await using lab = await startLab('dr')
    await lab.node('A1').seal()
    const text = /^timeout: .*: A \(dr\): .*503 Vault is sealed$/
    expect(await codeAndText(() => lab.converged(soon))).toMatch(text)
  })

  it('the lab names a secondary that follows no primary as a problem', async () => {
    await using lab = await startDr()
    await lab.converged()
    await lab.A.client.write('sys/replication/dr/primary/demote')
    expect(await codeAndText(() => lab.converged(soon))).toMatch(/^timeout: .*A \(dr\): .*follows no primary/)
    expect(await lab.problems()).toContain('A is a DR secondary that follows no primary')
  })

  it('the lab names a disabled or stopped secondary as a problem', async () => {
    await using lab = await startLab('pr')
    const stopped = await lab.C.stop()
    expect(await codeAndText(() => lab.converged(soon))).toMatch(/C \(performance\): it is not running, but A lists it/)
    expect(await codeAndText(() => lab.healthy(soon))).toMatch(/^timeout: .*C is stopped/)
    await stopped.start()
    await lab.converged()
    await lab.C.client.write('sys/replication/performance/secondary/disable')
    expect(await codeAndText(() => lab.converged(soon))).toMatch(/C \(performance\): it follows no primary/)
  })

  it('the lab checks a performance secondary and its DR copy after they exchange roles, too', async () => {
    await using lab = await startLab('four', { simulated: true })
    await lab.switchover('C', 'D')
    await lab.converged()
    await lab.switchover('D', 'C')
    await lab.converged()
  })

  it('the lab is unhealthy while a link is cut or slow, and healthy afterwards', async () => {
    await using lab = await startDr()
    await lab.healthy()
    lab.link('A', 'B').setFault('latency', { ms: 5 })
    await lab.converged()
    expect(await lab.problems()).toEqual(['the link A-B has a fault'])
    lab.heal()
    await lab.healthy()
    expect(await lab.problems()).toEqual([])
  })
})

describe('drills and events', () => {
  const DRILL = {
    apiVersion: 'understudy/v1',
    kind: 'Drill',
    name: 'lost-primary',
    purpose: 'B takes over',
    topology: 'dr',
    steps: [
      { name: 'A is lost', crash: 'A' },
      { name: 'B takes over', promote: { cluster: 'B', kind: 'dr', token: 'operation' } },
    ],
  }

  it('a drill on a lab leaves its clients with valid keys', async () => {
    await using lab = await startDr()
    await lab.converged()
    const result = await lab.drill(DRILL)
    expect(result).toMatchObject({ verdict: 'passed', drill: 'lost-primary' })
    expect(await lab.B.client.read('sys/mounts')).toHaveProperty('kv/')
    expect(await codeAndText(() => lab.drill('no-such-drill'))).toMatch(/^usage: /)
    expect(await codeAndText(() => lab.drill({ ...DRILL, steps: [{ crahs: 'A' }] }))).toMatch(/^usage: .*crahs/)
    expect(await codeAndText(() => lab.drill({ ...DRILL, topology: 'pr-dr' }))).toMatch(/^usage: .*no cluster C/)
    expect(await codeAndText(() => lab.drill(DRILL))).toMatch(/^conflict: .*A does not respond; reset\(\) restores/)
  })

  it('a drill ends with its lab, at any step', { timeout: 120_000 }, async () => {
    const lab = await startDr()
    let ended: Promise<void> | undefined
    await new Promise<void>((begun) => {
      const playing = lab.drill({ ...DRILL, steps: [{ wait: '1h' }] }, { watcher: { onStep: () => begun() } })
      ended = expect(playing).rejects.toThrow('the lab was closed')
    })
    await lab.close()
    await ended
  })

  it('events report calls, faults and roles, and end with the lab', async () => {
    const lab = await startDr()
    const seen: string[] = []
    const isDone = (async () => {
      for await (const { kind, cluster, details } of lab.events) {
        seen.push([kind, cluster, JSON.stringify(details)].join(' '))
      }
    })()
    lab.link('A', 'B').setFault('latency', { ms: 1 })
    lab.heal()
    await lab.A.client.write('kv/greeting', { word: 'hello' })
    await lab.converged()
    await lab.switchover('A', 'B')
    const isTold = async () => (seen.some((line) => /^role B .*"primary"/.test(line)) ? undefined : seen.join('\n'))
    await waitFor(systemClock, 'the role of B to be told', isTold, 90_000)
    await lab.close()
    await isDone
    expect(seen).toContainEqual('call A {"method":"PUT","path":"kv/greeting","status":204}')
    expect(seen).toContainEqual(expect.stringMatching(/^fault-set .*"between":\["A","B"\].*"latency"/))
  })

  it("events have the time of the lab's clock after it was advanced", async () => {
    const seen: LabEvent[] = []
    await using lab = await startDr()
    const stop = lab.localEvents.subscribe((event) => seen.push(event))
    await lab.A.client.write('kv/before', { word: 'before' })
    lab.clock.advance('31m')
    await lab.A.client.write('kv/after', { word: 'after' })
    stop()
    const [before, after] = ['kv/before', 'kv/after'].map((path) => seen.find(({ details }) => details.path === path))
    expect(before).not.toHaveProperty('virtualTime')
    expect(Date.parse(after?.virtualTime ?? '') - Date.parse(after?.time ?? '')).toBe(31 * 60_000)
  })
})

describe("a topology of one's own", () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-topology-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  it('a lab follows its topology file', async () => {
    const file = path.join(directory, 'two.yaml')
    writeFileSync(
      file,
      `apiVersion: understudy/v1
kind: Topology
name: two
clusters:
  X:
    seal: shamir 3/2
    version: 1.19.0+ent
    seed:
      mounts: { eu: { type: kv, version: 1 }, us: { type: kv, version: 1 } }
      secrets: { us/greeting: { word: hello } }
  Y:
links:
  - { kind: performance, primary: X, secondary: Y, latency: 2ms, filter: { mode: deny, paths: [eu/] } }
`,
    )
    await using lab = await startLab<'X' | 'Y'>(file)
    expect(lab.Y.unsealKeys).toHaveLength(3)
    expect((await lab.X.anonymous.send('GET', 'sys/health')).json).toMatchObject({ version: '1.19.0+ent' })
    expect((await lab.Y.client.read('us/greeting')).data).toEqual({ word: 'hello' })
    expect((await lab.Y.client.send('GET', 'eu/greeting')).status).toBe(404)
    await lab.Y.stop()
    await lab.Y.start()
    await lab.converged()
    expect(await lab.problems()).toEqual([])
  })

  it('a topology may request TLS listeners and auto-unseal', async () => {
    const seal = { type: 'auto', shares: 3, threshold: 2 } as const
    const plans = { A: { tls: true, seal }, B: { tls: true, seal } }
    const links = [{ kind: 'dr', primary: 'A', secondary: 'B' }] as const
    await using lab = await startLab({ ...STRANGERS, links, plans })
    expect(lab.A.address).toMatch(/^https:/)
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await writeSecret(lab, 'A', 'early')
    await lab.converged()
    expect((await lab.A.anonymous.read('sys/seal-status')).recovery_seal).toBe(true)
    expect(lab.A.unsealKeys).toHaveLength(3)
    const lost = await lab.A.crash()
    await lost.start()
    expect(await readSecret(lab, 'A')).toBe('early')
    await lab.healthy()

    await lab.A.crash()
    await lab.failover('A', 'B', { force: true })
    expect(await readSecret(lab, 'B')).toBe('early')
    await lab.reset()
    await lab.healthy()
    expect((await lab.A.client.send('GET', 'kv/greeting')).status).toBe(404)
    const { caFile = '' } = lab.A
    expect(existsSync(caFile)).toBe(true)
    await lab.close()
    expect(existsSync(path.dirname(caFile))).toBe(false)
  })

  it('start explains that a sealed auto-unseal cluster needs a stop first', async () => {
    const seal = { type: 'auto', shares: 1, threshold: 1 } as const
    await using lab = await startLab({ name: 'one', about: '', clusters: ['A'], links: [], plans: { A: { seal } } })
    await lab.A.client.write('sys/seal', {})
    expect(await codeAndText(() => lab.A.start())).toMatch(
      /^remote: cluster A did not unseal automatically; call stop\(\) and start\(\) to try again$/,
    )
    const stopped = await lab.A.stop()
    await stopped.start()
    expect((await lab.A.client.read('sys/mounts')).data).toBeDefined()
  })

  it('a topology may put a load balancer before a primary as its only address', async () => {
    await using lab = await startLab('lb')
    const { primary_cluster_addr: known } = await lab.C.status('performance')
    expect(known).toBe(lab.A.clusterAddress)
    const own = new URL(lab.A.address)
    expect(Number(new URL(lab.A.clusterAddress).port)).not.toBe(Number(own.port) + 1)
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await lab.converged()
    lab.link('A', 'C').partition()
    await lab.A.client.write('kv/greeting', { word: 'cut' })
    const root = (await lab.A.status('dr')).merkle_root
    const isCopied = async () => ((await lab.B.status('dr')).merkle_root === root ? undefined : 'another root')
    await waitFor(systemClock, 'B to follow', isCopied, 90_000)
    expect((await lab.C.anonymous.send('GET', 'kv/greeting', { token: lab.C.rootToken })).status).toBe(404)
    lab.heal()
    await lab.converged()

    const { token } = (await lab.A.client.write('sys/replication/performance/primary/secondary-token', { id: 'again' }))
      .wrap_info as { token: string }
    const change = { token, primary_api_addr: lab.A.address }
    const path = 'sys/replication/performance/secondary/update-primary'
    const refused = await lab.C.client.send('POST', path, { body: change })
    expect([refused.status, JSON.stringify(refused.json)]).toEqual([400, expect.stringContaining('ECONNREFUSED')])
    expect((await lab.C.client.send('POST', path, { body: { token } })).status).toBe(200)
    await lab.converged()
  })

  it('a topology may hide the API of a primary, whose secondary is activated by a public key', async () => {
    await using lab = await startLab('pubkey')
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    await lab.converged()
    expect(await lab.C.client.read('sys/mounts')).toHaveProperty('kv/')
    const { token } = (await lab.A.client.write('sys/replication/performance/primary/secondary-token', { id: 'again' }))
      .wrap_info as { token: string }
    const path = 'sys/replication/performance/secondary/update-primary'
    expect((await lab.C.client.send('POST', path, { body: { token } })).status).toBe(400)
  })
})

describe('what is not known', () => {
  const startWith = (topology: string, options: object) => () => startLab(topology as 'single', options)

  it('startLab rejects an unknown topology or option and suggests the nearest name', async () => {
    expect(await codeAndText(startWith('pr-rd', {}))).toMatch(/^usage: .*"pr-rd"; did you mean "pr-dr"\?/)
    expect(await codeAndText(startWith('single', { sead: 1 }))).toMatch(/"sead"; did you mean "seed"\?/)
    for (const misspelt of ['simulate', 'simulted', 'simulation'])
      expect(await codeAndText(startWith('single', { [misspelt]: true }))).toBe(
        `usage: startLab: unknown key "${misspelt}"; did you mean "simulated"?`,
      )
    const virtual = { simulated: true } as object
    expect(await codeAndText(() => InProcessLab.start(loadTopology('single'), virtual))).toBe(
      'usage: use startLab to start a simulated lab',
    )
    const refusals: readonly (readonly [object, string])[] = [
      [{ storage: 'tape' }, 'storage is "tape", but must be "memory", "disk" or a function'],
      [{ timeoutMs: 0 }, 'timeoutMs is 0, but must be a number of milliseconds above 0'],
      [{ timeoutMs: '500' }, 'timeoutMs is a string, but must be a number of milliseconds above 0'],
      [{ settings: null }, 'settings is null (empty), but must be a map'],
      [{ nodes: 2 }, 'nodes is 2, but must be 1, 3 or 5'],
      [{ seed: Number.NaN }, 'seed is NaN, but must be a number or a non-empty string'],
      [{ log: 'debug' }, 'log is a string, but must be a log'],
    ]
    for (const [options, text] of refusals)
      expect(await codeAndText(startWith('single', options))).toBe(`usage: startLab: ${text}`)
    expect(await codeAndText(startWith('single', { settings: { hartbeat_interval: '1s' } }))).toMatch(
      /^usage: .*"hartbeat_interval"; did you mean "heartbeat_interval"\?/,
    )
    expect(await codeAndText(startWith('single', { settings: { heartbeat_interval: 'soon' } }))).toMatch(
      /^usage: .*heartbeat_interval/,
    )
  })

  it('startLab rejects an invalid topology and names the error', async () => {
    const startGiven = (given: unknown) => () => startLab(given as typeof STRANGERS)
    const refusals: readonly (readonly [unknown, RegExp])[] = [
      [null, /^usage: a topology must be a name, a file or an object, not null$/],
      [undefined, /^usage: a topology must be .* not undefined$/],
      [{ foo: 1 }, /^usage: the topology: it requires "name"$/],
      [{ ...STRANGERS, cluster: ['A'] }, /^usage: .*"cluster"; did you mean "clusters"\?/],
      [{ ...STRANGERS, clusters: [] }, /^usage: the topology strangers: clusters must have at least 1 entry$/],
      [{ ...STRANGERS, clusters: ['A', 'A'] }, /^usage: the topology strangers has two clusters "A"$/],
      [{ ...STRANGERS, links: undefined }, /^usage: the topology strangers: it requires "links"$/],
      [{ ...STRANGERS, links: [null] }, /^usage: the topology strangers: links\[0\] is null \(empty\), but/],
      [{ ...STRANGERS, plans: { Z: {} } }, /^usage: .*"plans\.Z"/],
      [{ ...STRANGERS, plans: { A: { seel: 1 } } }, /^usage: .*"plans\.A\.seel"; did you mean "seal"\?$/],
      [
        { ...STRANGERS, plans: { A: { settings: { hartbeat_interval: '1s' } } } },
        /^usage: .*"hartbeat_interval"; did you mean "heartbeat_interval"\?$/,
      ],
      [{ ...STRANGERS, plans: { A: { settings: null } } }, /^usage: .*: plans\.A\.settings is null \(empty\), but/],
      [
        { ...STRANGERS, links: [{ kind: 'dr', primary: 'A', secondary: 'Z' }] },
        /^usage: the topology strangers: there is no cluster Z; there are A, B$/,
      ],
    ]
    for (const [given, text] of refusals) expect(await codeAndText(startGiven(given))).toMatch(text)
    const unloaded = 'dr' as unknown as Topology
    expect(await codeAndText(() => InProcessLab.start(unloaded))).toBe(
      'usage: start: topology is a string, but must be a topology, such as loadTopology("dr")',
    )
    expect(await codeAndText(async () => loadTopology(undefined as unknown as string))).toBe(
      'usage: loadTopology: nameOrFile is missing, but must be a string',
    )
    const noOptions = null as unknown as undefined
    expect(await codeAndText(() => startLab('single', noOptions))).toMatch(
      /^usage: startLab: options is null \(empty\), but must be a map$/,
    )
  })

  it('waits and operations of a lab reject unknown options', async () => {
    await using lab = await startLab('single')
    const wrong = { timeout: 5 } as object
    expect(await codeAndText(() => lab.healthy(wrong))).toMatch(
      /^usage: .*"options.timeout"; did you mean "timeoutMs"\?/,
    )
    expect(await codeAndText(() => lab.converged(wrong))).toMatch(/^usage: .*"options.timeout"/)
    const untyped = lab as unknown as Readonly<Record<string, (...given: readonly unknown[]) => Promise<unknown>>>
    const refusals: readonly (readonly [string, readonly unknown[], string])[] = [
      ['operationToken', ['A', { onCal: () => undefined }], 'unknown key "options.onCal"; did you mean "onCall"?'],
      ['operationToken', ['A', { onCall: 'print' }], 'options.onCall is a string, but must be a function'],
      ['converged', [null], 'options is null (empty), but must be a map'],
      ['healthy', [{ timeoutMs: '500' }], 'options.timeoutMs is a string, but must be a number of milliseconds'],
      ['failover', ['A'], 'the call requires "to"'],
      ['failover', ['A', 1], 'to is an integer, but must be the name of a cluster'],
      ['failover', ['A', 'B', { force: 1 }], 'options.force is an integer, but must be true or false'],
      ['switchover', ['A', 'B', null], 'options is null (empty), but must be a map'],
      ['activate', ['A', 'B'], 'the call requires "options"'],
      ['activate', ['A', 'B', { kind: 'dr', filter: { mode: 'allow', path: [] } }], 'options.filter requires "paths"'],
      ['drill', [null], 'drill is null (empty), but must be a name, a file or an object'],
      ['drill', ['dr-failover', { slo: { rto: 1 } }], 'unknown key "options.slo.rto"; did you mean "rtoMs"?'],
      ['reset', [{}], 'the argument is not a snapshot of a lab'],
    ]
    for (const [name, given, text] of refusals)
      expect(await codeAndText(async () => untyped[name]?.apply(lab, [...given]))).toBe(`usage: ${name}: ${text}`)
    const useKeys = lab.A.useKeys as (keys: unknown) => void
    expect(() => useKeys.call(lab.A, { unsealKey: [] })).toThrow(
      'unknown key "keys.unsealKey"; did you mean "unsealKeys"?',
    )
    const wait = async () => waitFor(systemClock, 'it', async () => undefined, '500' as unknown as number)
    const waitForNothing = waitFor as (...given: readonly unknown[]) => Promise<unknown>
    expect(await codeAndText(() => waitForNothing(systemClock, 'it'))).toBe('usage: waitFor: the call requires "fact"')
    expect(await codeAndText(wait)).toBe('usage: waitFor: timeoutMs is a string, but must be a number of milliseconds')
  })

  it('the client of a lab rejects requests without a path, and unknown options', async () => {
    await using lab = await startLab('single')
    const read = lab.A.client.read as (...given: readonly unknown[]) => Promise<unknown>
    expect(await codeAndText(() => read.call(lab.A.client))).toBe('usage: a request: it requires "path"')
    expect(await codeAndText(() => read.call(lab.A.anonymous, 'sys/health', 'list'))).toBe(
      'usage: a request: call.query is a string, but must be a map',
    )
    const misspelt = { headrs: {} } as object
    expect(await codeAndText(() => lab.A.client.send('GET', 'sys/health', misspelt))).toBe(
      'usage: a request: unknown key "call.headrs"; did you mean "headers"?',
    )
    expect(await codeAndText(async () => new ApiClient({} as { address: string }))).toBe(
      'usage: ApiClient: options requires "address"',
    )
  })

  it('an operation of a lab over a cut link fails at once, and names the call that heals the link', async () => {
    await using lab = await startLab('dr')
    const crashed = await lab.A.crash()
    await lab.failover('A', 'B', { force: true })
    await crashed.start()
    lab.link('A', 'B').partition('up')
    const text = `A cannot follow B: the link between A and B is cut; to heal it: lab.link('A', 'B').heal()`
    expect(await codeAndText(() => lab.rejoin('A', 'B'))).toBe(`remote: ${text}`)
    lab.link('A', 'B').heal()
    await lab.rejoin('A', 'B')
    await lab.healthy()
  })

  it('links, clocks and snapshots of a lab reject unknown values', async () => {
    await using lab = await startLab('dr')
    const link = lab.link as (...given: readonly string[]) => unknown
    expect(() => link.call(lab, 'A', 'Q')).toThrow('the topology dr has no cluster Q; it has A, B')
    expect(() => lab.link('A', 'A')).toThrow('specify two different clusters')
    expect(() => lab.link('A', 'B').partition('sideways' as 'up')).toThrow(
      'the direction of a link must be up, down or both, not "sideways"',
    )
    expect(() => link.call(lab, 'A')).toThrow('link: the call requires "other"')
    expect(() => link.call(lab, 'a', 'B')).toThrow('the topology dr has no cluster a; did you mean "A"?')
    expect(() => Reflect.get(lab.link('A', 'B'), 'setLatency')).toThrow(
      `a link does not support "setLatency": use setFault('latency', { ms })`,
    )
    expect(() => lab.clock.advance(-5)).toThrow('the time of a lab cannot go back: -5 is negative')
    for (const wrong of ['soon', Number.NaN]) expect(() => lab.clock.advance(wrong)).toThrow('is neither a duration')
    for (const bare of ['31', '-31'])
      expect(() => lab.clock.advance(bare)).toThrow(`"${bare}" has no unit: use ${bare}ms or ${bare}s`)
    expect(lab.clock.skewMs).toBe(0)
    const wrongKind = { kind: 'perf' } as unknown as { kind: 'dr' }
    expect(await codeAndText(() => lab.activate('A', 'B', wrongKind))).toBe(
      'usage: activate: options.kind is "perf", but must be "dr" or "performance"; did you mean "performance"?',
    )
    await using other = await startLab('single')
    const foreign = await other.snapshot()
    expect(await codeAndText(() => lab.reset(foreign))).toBe('usage: the snapshot is of another lab')
    await lab.healthy()
  })

  it('a stopped cluster of a lab has no client', async () => {
    await using lab = await startLab('single')
    const held = lab.A.client
    const stopped = await lab.A.stop()
    expect(() => lab.A.client).toThrow(/^cluster A is stopped, so it has no client; call lab.A.start\(\) first$/)
    await stopped.start()
    expect((await held.read('sys/mounts')).data).toBeDefined()
  })
})
