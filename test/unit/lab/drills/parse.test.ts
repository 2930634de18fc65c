import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseDrill } from '../../../../src/lab/drills/parse.js'
import { drillSchemaDocument } from '../../../../src/lab/drills/drill-schema.js'
import { describeExpectation, EXPECTATIONS } from '../../../../src/lab/drills/expectations/expectations.js'
import { describeStep, STEPS as VERBS } from '../../../../src/lab/drills/steps/steps.js'

const HEAD = 'apiVersion: understudy/v1\nkind: Drill\ntopology: pr-dr\n'

/** One step of each verb, as in a drill file. */
const STEPS: Readonly<Record<keyof typeof VERBS, string>> = {
  start: 'A',
  stop: '[A, B]',
  restart: 'A',
  crash: 'A',
  pause: 'A',
  resume: 'A',
  wipe: 'A',
  seal: 'A',
  unseal: 'A',
  fault: '{ name: latency, between: [A, C], delay: 80ms, jitter: 20ms, one-way: true, for: 30s }',
  heal: '{ between: [A, C] }',
  hold: '{ cluster: C, state: merkle-sync, kind: performance }',
  release: '{ cluster: C }',
  corrupt: '{ cluster: C, tree: replicated, page: 3 }',
  skew: '{ cluster: B, by: 5m }',
  disk: '{ cluster: A, state: slow, delay: 50ms }',
  'expire-token': '{ cluster: A, id: dr-b, kind: dr }',
  call: '{ cluster: A, method: PUT, path: sys/mounts/kv, body: { type: kv }, expect: { status: [200, 204] }, save: { x: data.keys.0 } }',
  promote: '{ cluster: B, kind: dr, token: operation, force: true }',
  demote: '{ cluster: A, kind: dr }',
  disable: '{ cluster: A, kind: dr }',
  join: '{ primary: A, secondary: C, kind: performance, filter: { mode: deny, paths: [EU/] } }',
  'update-primary': '{ cluster: A, kind: dr, primary: B }',
  revoke: '{ primary: A, secondary: C, kind: performance }',
  filter: '{ primary: A, secondary: C, mode: deny, paths: [EU/] }',
  write: '{ cluster: A, path: kv/a, fields: { word: kept }, times: 3 }',
  read: '{ cluster: A, path: kv/a, is: { word: kept } }',
  wait: '{ for: accepting-writes, cluster: B, within: 60s }',
  checkpoint: '[{ health: { cluster: B, is: 472 } }]',
  run: '{ cluster: A, command: vault status, prints: Sealed }',
}

const EXPECTED: Readonly<Record<keyof typeof EXPECTATIONS, string>> = {
  rto: '{ at-most: 60s }',
  rpo: '{ writes-lost: 0 }',
  tokens: '{ survived: all }',
  writes: '{ accepted-by: B, on: A, lost: 0 }',
  refusals: '{ count: { at-least: 1 }, containing: "503" }',
  roots: '{ equal: [B, C] }',
  values: '{ path: kv/a, on: [A, C], is: { word: kept } }',
  absent: '{ path: kv/a, on: B }',
  'known-secondaries': '{ cluster: B, kind: dr, are: [] }',
  primaries: '{ kind: dr, are: [B] }',
  status: '{ cluster: B, kind: dr, is: { mode: primary } }',
  health: '{ cluster: [A, C], is: 200 }',
  lag: '{ primary: A, secondary: C, kind: performance, entries: 0 }',
  metrics: '{ cluster: A, name: vault_core_unsealed, is: 1 }',
  losses: '{ cluster: A, entries: { at-least: 1 } }',
  call: '{ cluster: A, path: sys/health }',
}

/** An alias bomb: nine levels with nine references each. */
const BOMB = [...'abcdefg']
  .map(
    (name, index, all) =>
      `${name}: &${name} [${Array(9)
        .fill(index === 0 ? 'x' : `*${all[index - 1]}`)
        .join(', ')}]`,
  )
  .join(', ')

const entriesOf = (table: Readonly<Record<string, string>>) =>
  Object.entries(table).map(([key, value]) => `  - ${key}: ${value}\n`)

const problemsOf = (text: string, file = 'x.yaml'): string => {
  try {
    parseDrill(text, file)
  } catch (error) {
    return String((error as Error).message)
  }
  return 'none'
}

it('the drill parser reads every verb and every expectation', () => {
  const text = `${HEAD}load: {}\nsteps:\n${entriesOf(STEPS).join('')}expect:\n${entriesOf(EXPECTED).join('')}`
  const drill = parseDrill(text, 'some/where/my-drill.yaml')
  expect(drill.name).toBe('my-drill')
  expect(drill.steps.map(({ verb }) => verb)).toEqual(Object.keys(STEPS))
  expect(drill.expect.map(({ about }) => about)).toEqual(Object.keys(EXPECTED))
  expect(drill.load).toMatchObject({ writers: 4, logins: 1, readers: 2, tokens: 3, everyMs: 25, patienceMs: 2000 })
  expect(Object.keys(STEPS)).toEqual(Object.keys(VERBS))
  expect(Object.keys(EXPECTED)).toEqual(Object.keys(EXPECTATIONS))
})

it.each([
  [
    'a wipe of an unknown cluster',
    'steps:\n  - wipe: Q1\n',
    'x.yaml:5:11: the topology has no cluster Q1; it has A, B, C',
  ],
  [
    'an unknown primary in a checkpoint',
    'steps:\n  - checkpoint: [{ primaries: { kind: dr, are: [Q] } }]\n',
    'the topology has no cluster Q; it has A, B, C',
  ],
  ['an unknown verb', 'steps:\n  - crush: A\n', 'x.yaml:5:5: unknown key "steps[0].crush"; did you mean "crash"?'],
  ['no verb', 'steps:\n  - name: alone\n', 'x.yaml:5:5: a step must have exactly one verb; this step has none'],
  ['two verbs', 'steps:\n  - crash: A\n    start: A\n', 'this step has crash and start'],
  [
    'a cluster that is not there',
    'steps:\n  - crash: Q\n',
    'x.yaml:5:12: the topology has no cluster Q; it has A, B, C',
  ],
  [
    'a duration that is none',
    'steps:\n  - wait: long\n',
    'x.yaml:5:11: steps[0].wait is "long", but must be a duration such as 2s',
  ],
  ['a fault that lacks its number', 'steps:\n  - fault: { name: latency, between: [A, B] }\n', 'latency needs "delay"'],
  [
    'a link to itself',
    'steps:\n  - fault: { name: partition, between: [A, A] }\n',
    '"between" must be two different clusters',
  ],
  [
    'no expectation',
    'steps:\n  - crash: A\nexpect:\n  - {}\n',
    'x.yaml:7:5: an expectation must be a map with exactly one name',
  ],
  [
    'an expectation of a load without one',
    'steps:\n  - crash: A\nexpect:\n  - rpo: { writes-lost: 0 }\n',
    'add "load: {}"',
  ],
  [
    'one of the load in a checkpoint',
    'load: {}\nsteps:\n  - checkpoint: [{ rto: { at-most: 1s } }]\n',
    'a checkpoint cannot contain it',
  ],
  [
    'a condition without its cluster',
    'steps:\n  - wait: { for: health, health: 200 }\n',
    '"for: health" needs "cluster"',
  ],
  ['a verb that every object has', 'steps:\n  - constructor: A\n', 'x.yaml:5:5: unknown key "steps[0].constructor"'],
  ['a key of that kind', '__proto__: { steps: [] }\n', 'x.yaml:4:1: unknown key "__proto__"'],
  [
    'what contains itself',
    'steps:\n  - call: &x { cluster: A, method: PUT, path: x, body: *x }\n',
    'x.yaml: an alias refers to itself',
  ],
  [
    'aliases that grow without end',
    `steps:\n  - call: { cluster: A, method: PUT, path: x, body: { ${BOMB} } }\n`,
    'x.yaml: an alias refers to itself, or',
  ],
  ['no YAML', 'steps: [\n', 'x.yaml:5:1:'],
  ['no steps', '', 'x.yaml:1:1: the file requires "steps"'],
])('a drill error has the position of %s', (_what, rest, problem) => {
  expect(problemsOf(HEAD + rest)).toContain(problem)
})

it('descriptions of steps and expectations have words for the variables of clusters', () => {
  const status = `{ cluster: C, kind: performance, is: { primary_cluster_addr: "https://\${B.cluster_address}" } }`
  const text = `apiVersion: understudy/v1\nkind: Drill\ntopology: pr-dr\nsteps: [{ crash: "\${A.active_node}" }]\n`
  const { steps, expect: wanted } = parseDrill(`${text}expect: [{ status: ${status} }]\n`, 'mine.yaml')
  expect([...steps.map(describeStep), ...wanted.map(describeExpectation)]).toEqual([
    'crash <active node of A>',
    expect.stringContaining('https://<cluster address of B>'),
  ])
})

it('a drill error suggests a topology for a misspelled name', () => {
  expect(problemsOf('apiVersion: understudy/v1\nkind: Drill\ntopology: pr-rd\nsteps: [{ crash: A }]\n')).toContain(
    'x.yaml:3:11: there is no topology "pr-rd"; did you mean "pr-dr"?',
  )
})

describe('a topology of its own file', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-drill-'))
  const at = (name: string) => path.join(directory, name)
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(
    at('ours.yaml'),
    'apiVersion: understudy/v1\nkind: Topology\nname: ours\nclusters: { A: { nodes: 3 }, B: }\n',
  )
  writeFileSync(at('wrong.yaml'), 'apiVersion: understudy/v1\nkind: Topology\nname: ours\nclusters: {}\n')
  const judge = (topology: string, step: string) =>
    problemsOf(`apiVersion: understudy/v1\nkind: Drill\ntopology: ${topology}\nsteps:\n  - ${step}\n`, at('drill.yaml'))

  it('the topology file of a drill is beside it, and contains its clusters and nodes', () => {
    for (const step of ['crash: A', 'crash: A2', 'crash: [A3, B]', `crash: "\${A.standby_1}"`])
      expect(judge('ours.yaml', step)).toBe('none')
    expect(judge('ours.yaml', 'crash: Z')).toBe(
      `${at('drill.yaml')}:5:12: the topology has no cluster Z; it has A, B, A1, A2, A3`,
    )
  })

  it('an error of the topology file names the position in the drill or in that file', () => {
    expect(judge('missing.yaml', 'crash: A')).toContain(
      `${at('drill.yaml')}:3:11: ${at('missing.yaml')} cannot be read`,
    )
    expect(judge('./wrong.yaml', 'crash: A')).toBe(`${at('wrong.yaml')}:4:11: clusters must have at least one cluster`)
  })
})

it('the drill schema describes every field', () => {
  const text = JSON.stringify(drillSchemaDocument())
  for (const name of [...Object.keys(VERBS), ...Object.keys(EXPECTATIONS)])
    expect(text, name).toContain(JSON.stringify({ required: [name] }))
  for (const [name, { schema }] of Object.entries({ ...VERBS, ...EXPECTATIONS }))
    expect(schema.description, name).toBeTruthy()
})

it('a drill error lists the first of many problems', () => {
  const lines = problemsOf(`${HEAD}steps:\n${'  - crush: A\n'.repeat(50)}`).split('\n')
  expect([lines.length, lines.at(-1)]).toEqual([21, 'x.yaml: 30 more problems are not shown'])
})
