import { expect, it } from 'vitest'
import type { ApiClient } from '../../../src/client/api-client.js'
import { parseDrill } from '../../../src/lab/drills/parse.js'
import type { DrillResult } from '../../../src/lab/drills/context/result.js'
import { summaryOf } from '../../../src/lab/drills/summary.js'
import type { Slo } from '../../../src/lab/drills/expectations/expectations.js'
import { runDrill } from '../../../src/lab/drills/run/run-drill.js'
import { InProcessLab } from '../../../src/lab/library/in-process-lab.js'
import { openInProcessLab } from '../../../src/lab/live/in-process-driver.js'
import { requireTopology } from '../../../src/lab/topology/catalogue.js'
import { OutageObserver } from '../../support/outage-observer.js'

const TIMEOUT_MS = 60_000

/** Duration of a round: every client tries each connection, with a pause after each. */
const ROUND_MS = 2 * 25

const drillOf = (topology: string, text: string) =>
  parseDrill(`apiVersion: understudy/v1\nkind: Drill\ntopology: ${topology}\n${text}`, 'test.yaml')

const play = async (topology: string, text: string, slo?: Slo): Promise<DrillResult> => {
  await using inProcess = await InProcessLab.start(requireTopology(topology), { seed: 1 })
  await using lab = openInProcessLab(inProcess)
  return await runDrill(lab, drillOf(topology, text), { seed: '1', timeoutMs: TIMEOUT_MS, slo })
}

const failed = ({ expectations }: DrillResult) => expectations.filter(({ passed }) => !passed)

/** Returns the keys of the load on a cluster. */
const keysOn = async (client: ApiClient): Promise<Set<string>> => {
  const list = async (path: string): Promise<string[]> => {
    const { data } = await client.call('LIST', path)
    return (data as { keys: string[] }).keys
  }
  const folders = (await list('drill-load')).filter((name) => name.endsWith('/'))
  const keys = await Promise.all(
    folders.map(async (folder) => (await list(`drill-load/${folder}`)).map((key) => `drill-load/${folder}${key}`)),
  )
  return new Set(keys.flat())
}

it('a drill measures the same RTO and RPO as an independent observer', { timeout: 600_000 }, async () => {
  await using inProcess = await InProcessLab.start(requireTopology('dr'), { seed: 1 })
  await using lab = openInProcessLab(inProcess)
  const root = await lab.root('A')
  await root.write('sys/mounts/observer', { type: 'kv' })
  await inProcess.converged()
  const observer = new OutageObserver(
    lab.cluster('A').apiAddress,
    lab.cluster('B').apiAddress,
    lab.cluster('A').rootToken,
  )
  const result = await runDrill(
    lab,
    drillOf(
      'dr',
      `
load: { writers: 3, logins: 1, readers: 1, tokens: 2 }
steps:
  - wait: 300ms
  - name: what is written from now on stays on A
    fault: { name: partition, between: [A, B] }
  - wait: 700ms
  - crash: A
  - wait: 400ms
  - promote: { cluster: B, kind: dr, force: true }
  - wait: { for: accepting-writes, cluster: B }
  - wait: 300ms
expect:
  - rto: { at-most: 60s }
  - rpo: { writes-lost: { at-least: 1 } }
  - tokens: { survived: all }
`,
    ),
    { timeoutMs: TIMEOUT_MS },
  )
  const outage = await observer.stop()
  // The curve contains all requests of the clients, including the last one.
  expect(result.samples.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(result.rpo?.acknowledged)
  expect(failed(result)).toEqual([])
  expect(result.verdict).toBe('passed')

  const { rto, rpo } = result
  expect(rto?.acceptedBy).toBe('B')
  expect(Math.abs((rto?.ms ?? 0) - outage.ms)).toBeLessThan(4 * outage.resolutionMs + 2 * ROUND_MS)
  expect(rto?.ms).toBeGreaterThan(400)

  // The entries that A has and B has not: lost writes, and writes that A accepted without a response.
  await lab.heal()
  await lab.work('start', 'A', TIMEOUT_MS)
  const [onA, onB] = await Promise.all([keysOn(await lab.root('A')), keysOn(await lab.root('B'))])
  const surplus = [...onA].filter((key) => !onB.has(key))
  const lost = rpo?.lost.map(({ key }) => key) ?? []
  expect(rpo?.writesLost).toBe(lost.length)
  expect(lost.filter((key) => !surplus.includes(key))).toEqual([])
  expect(surplus.length - lost.length).toBeLessThanOrEqual(4)
  expect(rpo?.acknowledged).toBe(rpo?.readBack)
  expect(rpo?.lost.every(({ cluster }) => cluster === 'A')).toBe(true)
  expect(rpo?.seconds).toBeGreaterThan(0)

  // The curves show the same events: writes on A, none, writes on B; and an interrupted link.
  const refusedAt = result.samples.filter(({ refused }) => refused > 0)
  expect(refusedAt.length).toBeGreaterThan(0)
  expect(Math.max(...result.samples.map(({ lag }) => lag['A>B dr'] ?? 0))).toBeGreaterThan(0)
  expect(result.before?.links).toEqual([{ kind: 'dr', primary: 'A', secondary: 'B', isConnected: true }])
  expect(result.after?.clusters.map(({ name, health, dr }) => [name, health, dr.mode])).toEqual([
    ['A', null, 'unknown'],
    ['B', 200, 'primary'],
  ])
  expect(result.events).toContainEqual(
    expect.objectContaining({
      kind: 'role',
      cluster: 'B',
      details: { replication: 'dr', from: 'secondary', to: 'primary' },
    }),
  )
  expect(result.calls.map(({ path }) => path)).toContain('sys/replication/dr/secondary/promote')
  expect(JSON.stringify(result)).not.toMatch(/hv[sb]\.[A-Za-z0-9]/)
})

it('a drill plays every verb that changes roles, and checks the result', { timeout: 600_000 }, async () => {
  const result = await play(
    'pr-dr',
    `
load: { writers: 2, logins: 0, readers: 0, tokens: 1 }
setup:
  - call: { cluster: A, method: PUT, path: sys/mounts/kv, body: { type: kv } }
  - call:
      { cluster: A, method: PUT, path: sys/policies/acl/failover,
        body: { policy: 'path "sys/replication/dr/secondary/promote" { capabilities = ["update"] }' } }
  - call:
      { cluster: A, method: PUT, path: auth/token/roles/handler,
        body: { allowed_policies: failover, orphan: true, renewable: false, token_type: batch } }
  - call: { cluster: A, method: PUT, path: auth/token/create/handler, body: { ttl: 8h }, save: { batch: auth.client_token } }
  - write: { cluster: A, path: kv/a, fields: { word: first } }
  - wait: { for: converged }
steps:
  - read: { cluster: C, path: kv/a, is: { word: first }, within: 10s }
  - checkpoint:
      - values: { path: kv/a, on: [A, C], is: { word: first } }
      - health: { cluster: B, is: 472 }
  - name: a DR secondary cannot be promoted with a wrong token
    promote: { cluster: B, kind: dr, token: hvs.wrong }
    error: { status: 403, contains: permission denied }
  - demote: { cluster: A, kind: dr }
  - promote: { cluster: B, kind: dr, token: "\${batch}" }
  - wait: { for: accepting-writes, cluster: B }
  - update-primary: { cluster: A, kind: dr, primary: B }
  - write: { cluster: B, path: kv/b, fields: { word: second } }
  - filter: { primary: B, secondary: C, mode: deny, paths: [kv/] }
  - call: { cluster: C, path: kv/a, expect: { status: 404 }, within: 20s }
  - filter: { primary: B, secondary: C, remove: true }
  - revoke: { primary: B, secondary: C, kind: performance }
  - update-primary: { cluster: C, kind: performance, primary: B }
  - run: { cluster: B, command: 'echo "$VAULT_ADDR"', prints: "\${B.address}" }
expect:
  - rpo: { writes-lost: 0 }
  - tokens: { survived: all }
  - writes: { accepted-by: B, on: C, lost: 0 }
  - primaries: { kind: dr, are: [B] }
  - known-secondaries: { cluster: B, kind: dr, are: [dr-a] }
  - known-secondaries: { cluster: B, kind: performance, are: [perf-c] }
  - status: { cluster: A, kind: dr, is: { mode: secondary, state: stream-wals } }
  - values: { path: kv/b, on: [B, C], is: { word: second } }
  - absent: { path: kv/never, on: [B, C] }
  - roots: { equal: [A, B], kind: dr }
  - roots: { equal: [B, C] }
  - lag: { primary: B, secondary: A, kind: dr, entries: 0 }
  - metrics: { cluster: B, name: vault_core_replication_dr_primary, is: 1 }
  - losses: { cluster: A, entries: 0 }
`,
  )
  expect([result.error, result.steps.filter(({ outcome }) => outcome !== 'passed'), failed(result)]).toEqual([
    null,
    [],
    [],
  ])
  expect(result.verdict).toBe('passed')
})

it('the losses of a former primary are not known before it follows its successor, so an expected 0 fails', async () => {
  const result = await play(
    'dr',
    `
steps:
  - crash: A
  - promote: { cluster: B, kind: dr, force: true }
  - wait: { for: accepting-writes, cluster: B }
  - start: A
expect:
  - losses: { cluster: A, entries: 0, within: 0s }
  - losses: { cluster: B, entries: 0, within: 0s }
`,
  )
  expect(result.expectations.map(({ passed, evidence }) => [passed, evidence])).toEqual([
    [false, ['the losses of A are not known before it follows B']],
    [true, ['B lists 0 entries as lost']],
  ])
})

it.each([
  ['a step that goes wrong', 'steps: [{ read: { cluster: A, path: kv/none, is: { a: 1 } } }]', 'the response is 404'],
  [
    'a step that should have been refused',
    'steps: [{ seal: A, error: anything }]',
    'the step succeeded, but an error was expected',
  ],
  [
    'an error of another kind',
    'steps: [{ promote: { cluster: A, kind: dr }, error: no such words }]',
    'does not contain "no such words"',
  ],
  [
    'a wait that ends',
    'steps: [{ wait: { for: health, cluster: A, health: 472, within: 100ms } }]',
    'sys/health returns 200',
  ],
  [
    'a command whose child went away and holds its output open',
    `steps: [{ run: { cluster: A, command: "setsid sleep 5 & true", within: 200ms } }]`,
    'did not finish',
  ],
  [
    'a command that fails',
    'steps: [{ run: { cluster: A, command: "echo words; exit 7" } }]',
    'exited with status 7, not 0',
  ],
])('a drill fails by %s, and states the reason', async (_what, text, why) => {
  const result = await play('single', text)
  expect([result.verdict, result.steps[0]?.outcome]).toEqual(['failed', 'failed'])
  expect(result.steps[0]?.error).toContain(why)
})

it('a drill fails at each unmet expectation, and marks what it did not measure', { timeout: 600_000 }, async () => {
  const result = await play(
    'single',
    `
load: { writers: 1, logins: 0, readers: 1, tokens: 0 }
steps:
  - wait: 200ms
  - seal: A
  - wait: 200ms
expect:
  - rto: { at-most: 60s }
  - rpo: { writes-lost: 0 }
  - tokens: { survived: all }
  - refusals: { count: { at-least: 1 }, containing: sealed }
  - health: { cluster: A, is: 200, within: 0s }
  - primaries: { kind: dr, are: [A], within: 0s }
`,
  )
  expect(result.verdict).toBe('failed')
  expect(result.expectations.map(({ passed }) => passed)).toEqual([false, false, false, true, false, false])
  expect(result.rto).toMatchObject({ ms: null, byClient: { 'new-login': null } })
  expect(result.rpo).toMatchObject({ writesLost: null, readBack: 0, seconds: null })
  expect(result.rpo?.acknowledged).toBeGreaterThan(0)
  expect(result.tokens).toBeNull()
  expect(result.expectations[1]?.evidence.join()).toContain('not measured')
})

it('a drill with an unsupported verb is an error of the drill, not of the clusters', async () => {
  const result = await play('single', 'steps: [{ pause: A }]\nexpect: [{ health: { cluster: A, is: 200 } }]')
  expect([result.verdict, result.error]).toEqual(['error', expect.stringContaining('"pause" is not supported')])
})

it.each([
  ['cannot be played', 'pause: A', 'error'],
  ['does not succeed', 'wait: { for: health, cluster: A, health: 472, within: 100ms }', 'failed'],
])('a drill measures nothing if a step before the last %s', async (_what, step, verdict) => {
  const text = `
load: { writers: 1, logins: 0, readers: 0, tokens: 2 }
steps:
  - ${step}
  - crash: A
expect:
  - rto: { at-most: 60s }
  - rpo: { writes-lost: 0 }
  - tokens: { survived: all }
  - refusals: { count: 0 }
`
  const result = await play('single', text)
  expect(result).toMatchObject({ verdict, rto: null, rpo: null, tokens: null })
  expect(result.expectations.map(({ passed, evidence }) => [passed, ...evidence])).toEqual(
    Array(4).fill([false, 'not measured: the drill stopped early']),
  )
  expect(summaryOf(result)).toMatch(/^RTO not measured ✗ {2}RPO not measured ✗ {2}tokens not measured ✗\nnot passed/)
})

it('a drill keeps the output of commands without tokens, and checks its own limit once', async () => {
  const text = `
load: { writers: 1 }
steps:
  - run: { cluster: A, command: 'echo words; echo token=$VAULT_TOKEN >&2' }
  - wait: 100ms
expect:
  - rto: { at-most: 60s }
`
  const { steps, expectations } = await play('single', text, { rtoMs: 60_000, writesLost: 5 })
  expect(steps[0]?.output).toContain('words\n')
  expect(steps[0]?.output).toContain("token='<token>'")
  expect(steps[1]).not.toHaveProperty('output')
  expect(expectations.map((one) => one.text.slice(0, 'rto'.length))).toEqual(['rto', 'rpo'])
})
