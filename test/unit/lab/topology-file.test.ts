import { readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Schema } from '../../../src/lab/documents/schema.js'
import { requireTopologyOf } from '../../../src/lab/start/own-topology.js'
import {
  findTopology,
  listTopologies,
  loadTopology,
  requireTopology,
  TOPOLOGY_NAMES,
  topologyText,
} from '../../../src/lab/topology/catalogue.js'
import { type Topology, withNodes } from '../../../src/lab/model/topology.js'
import { parseTopology, topologyDocument } from '../../../src/lab/topology/parse.js'
import { TOPOLOGY_SCHEMA } from '../../../src/lab/topology/schema.js'

const FILES = path.join(import.meta.dirname, '../../../src/lab/topology/files')
const HEAD = 'apiVersion: understudy/v1\nkind: Topology\nname: mine\n'

/** Returns the problems of a file with a valid head, without its name. */
const problemsOf = (rest: string, head = HEAD): string[] => {
  try {
    parseTopology(head + rest, 'mine.yaml')
    return []
  } catch (error) {
    return String((error as Error).message)
      .split('\n')
      .map((line) => line.replace('mine.yaml:', ''))
  }
}

it('a topology is the same after it is written and parsed, with any number of nodes', () => {
  const seal = 'clusters: { A: { seal: shamir 5/3, ports: { api: 9200 }, tls: true }, B: null }\n'
  const links = 'links: [{ kind: dr, primary: A, secondary: B, latency: 80ms, jitter: 5ms }]\n'
  for (const topology of [...listTopologies(), parseTopology(HEAD + seal + links, 'mine.yaml')])
    for (const one of [topology, withNodes(topology, 1), withNodes(topology, 3)])
      expect(parseTopology(topologyDocument(one), 'mine.yaml')).toEqual({ ...one, plans: one.plans ?? {} })
})

it('a topology rejects a cluster with the name of a node of another cluster', () => {
  const topology = { name: 'mine', about: 'two', clusters: ['A', 'A1'], links: [] }
  const text = 'cluster A1 has the name of a node of cluster A'
  expect(() => requireTopologyOf({ ...topology, plans: { A: { nodes: 3 } } })).toThrow(text)
  expect(() => requireTopologyOf({ ...topology, clusters: ['A', 'A4'], plans: { A: { nodes: 3 } } })).not.toThrow()
  expect(() => withNodes(topology, 3)).toThrow(expect.objectContaining({ code: 'usage', message: text }))
  expect(withNodes(topology, 1).clusters).toEqual(['A', 'A1'])
})

describe('topologies that ship with the package', () => {
  it('the shipped topologies are the files in their folder, each under its own name', () => {
    const files = readdirSync(FILES).map((file) => file.replace(/\.yaml$/, ''))
    expect([...TOPOLOGY_NAMES].sort()).toEqual(files.sort())
    expect(listTopologies().map(({ name }) => name)).toEqual([...TOPOLOGY_NAMES])
  })

  it.each(TOPOLOGY_NAMES)('the shipped topology %s equals the full parse of its file', (name) => {
    expect(parseTopology(topologyText(name), name)).toEqual(findTopology(name))
  })

  it('topologies are found by name, files by path, and a misspelt name gets a suggestion', () => {
    expect(loadTopology('pr-dr').links.map(({ kind }) => kind)).toEqual(['dr', 'performance'])
    expect(loadTopology(path.join(FILES, 'filtered.yaml')).links[0]?.filter).toEqual({
      mode: 'allow',
      paths: ['US_data/'],
    })
    expect(() => loadTopology('pr-drr')).toThrow('there is no topology "pr-drr"; did you mean "pr-dr"?')
    expect(() => loadTopology('./nowhere.yaml')).toThrow('./nowhere.yaml cannot be read')
    expect(() => requireTopology('mine.yaml')).toThrow(
      'there is no topology "mine.yaml"; to use your own file, specify -f mine.yaml',
    )
  })
})

describe('a topology that is an object', () => {
  it('every shipped topology is valid as an object, and so are absent fields and free names', () => {
    for (const topology of listTopologies()) expect(requireTopologyOf(topology)).toBe(topology)
    const link = { kind: 'dr', primary: 'first', secondary: 'Second One', latencyMs: 20.5, jitterMs: undefined }
    const plans = {
      first: {
        ...{ nodes: 3, storage: 'raft', license: 'plus', version: '1.19.0+ent', tls: true, reach: 'direct' },
        seal: { type: 'auto', shares: 3, threshold: 2 },
        settings: { heartbeat_interval: '1s', ship_batch_bytes: 65_536, user_lockout: true },
        seed: { mounts: { kv: null }, secrets: { 'kv/a': { b: { c: 1 } } } },
      },
      'Second One': undefined,
    }
    const free = { name: 'My lab!', about: 'two\nlines', clusters: ['first', 'Second One'], links: [link], plans }
    expect(requireTopologyOf(free as unknown as Topology)).toBe(free)
  })

  it.each([
    ['seel', { seel: 1 }, 'unknown key "plans.A.seel"; did you mean "seal"?'],
    ['a license', { license: 'free' }, 'plans.A.license is "free", but must be "enterprise", "plus" or "none"'],
    ['a seal of text', { seal: 'shamir 5/3' }, 'plans.A.seal is a string, but must be a map'],
    ['half a seal', { seal: { type: 'shamir' } }, 'plans.A.seal requires "shares"'],
    ['a misspelled setting', { settings: { hartbeat_interval: '1s' } }, 'did you mean "heartbeat_interval"?'],
    ['settings that are null', { settings: null }, 'plans.A.settings is null (empty), but must be a map'],
    ['a seed', { seed: { secret: {} } }, 'unknown key "plans.A.seed.secret"; did you mean "secrets"?'],
  ])('a plan with %s is rejected', (_, plan, text) => {
    const topology = { name: 'own', about: '', clusters: ['A'], links: [], plans: { A: plan } }
    const refusal = expect.objectContaining({ code: 'usage', message: expect.stringContaining(text) })
    expect(() => requireTopologyOf(topology as unknown as Topology)).toThrow(refusal)
  })

  it.each(['close', 'history', 'keys', 'timeoutMs', 'then', '__proto__', 'constructor', 'events'])(
    'no cluster can be named %s',
    (name) => {
      const topology = { name: 'own', about: 'own', clusters: [name, 'B'], links: [] }
      expect(() => requireTopologyOf(topology)).toThrow(
        `the topology own has a cluster "${name}": this name is reserved`,
      )
    },
  )
})

describe('a topology file', () => {
  it.each(['\\n', '\\r', '\\e', '\\N', '\\L'])('a topology file needs an about of one line, without %s', (code) => {
    expect(problemsOf(`about: "one${code}two"\nclusters: { A: {} }\n`)).toEqual([
      expect.stringContaining('but must be one line'),
    ])
    expect(parseTopology(`${HEAD}about: >\n  one\n  two\nclusters: { A: {} }\n`, 'mine.yaml').about).toBe('one two')
  })

  it('a topology file sets all properties of its clusters and links', () => {
    const topology = parseTopology(
      `${HEAD}about: all there is
defaults: { seal: shamir 5/3, tls: true, settings: { heartbeat_interval: 1s } }
clusters:
  A:
    version: "1.19.0+ent"
    license: plus
    ports: { api: 9200 }
    reach: cluster-port
    settings: { wal_retention_entries: 100 }
    seed:
      mounts: { kv: { version: 1 }, other: }
      policies: { app: 'path "kv/*" { capabilities = ["read"] }' }
      approle: { app: { token_policies: app, role_id: app-role } }
      secrets: { kv/app: { password: s3cret } }
  C: { seal: auto, tls: false }
links:
  - { kind: performance, primary: A, secondary: C, activation: public-key, latency: 80ms, jitter: 1.5s, filter: { mode: deny, paths: [other/] } }
`,
      'mine.yaml',
    )
    expect(topology).toEqual({
      name: 'mine',
      about: 'all there is',
      clusters: ['A', 'C'],
      links: [
        {
          kind: 'performance',
          primary: 'A',
          secondary: 'C',
          activation: 'public-key',
          latencyMs: 80,
          jitterMs: 1500,
          filter: { mode: 'deny', paths: ['other/'] },
        },
      ],
      plans: {
        A: {
          seal: { type: 'shamir', shares: 5, threshold: 3 },
          tls: true,
          version: '1.19.0+ent',
          license: 'plus',
          ports: { api: 9200, cluster: 9201 },
          reach: 'cluster-port',
          settings: { heartbeat_interval: '1s', wal_retention_entries: 100 },
          seed: {
            mounts: { kv: { version: 1 }, other: null },
            policies: { app: 'path "kv/*" { capabilities = ["read"] }' },
            approle: { app: { token_policies: 'app', role_id: 'app-role' } },
            secrets: { 'kv/app': { password: 's3cret' } },
          },
        },
        C: {
          seal: { type: 'auto', shares: 1, threshold: 1 },
          tls: false,
          settings: { heartbeat_interval: '1s' },
        },
      },
    })
  })

  it.each([
    ['clusters:\n  A:\n    seel: auto\n', '6:5: unknown key "clusters.A.seel"; did you mean "seal"?'],
    ['clusters:\n  A: { nodes: 2 }\n', '5:15: nodes must be 1, 3 or 5'],
    [
      'clusters:\n  A: { seal: { type: shamir, shares: 5, threshold: 3 } }\n',
      '5:14: clusters.A.seal is a map, but must be a string: "auto" or "shamir", followed by shares and threshold, such as "shamir 5/3"',
    ],
    [
      'clusters:\n  A: { seal: shamir 2/5 }\n',
      '5:14: a threshold of 5 with 2 shares is invalid: use at most 255 shares, and',
    ],
    ['clusters:\n  A: { seal: shamir 5/1 }\n', '5:14: several shares require a threshold of at least 2'],
    ['clusters:\n  a:\n', '5:3: "a" in clusters must be one letter, A to Z'],
    ['clusters: {}\n', '4:11: clusters must have at least one'],
    ['clusters: [A]\n', '4:11: clusters is a list, but must be a map'],
    [
      'clusters:\n  A: { version: 1.20 }\n',
      '5:17: clusters.A.version is a number, but must be a version in quotes, such as "1.20.4+ent"',
    ],
    [
      'clusters:\n  A: { settings: { hartbeat_interval: 1s } }\n',
      '5:20: there is no setting "hartbeat_interval"; did you mean "heartbeat_interval"?',
    ],
    [
      'clusters:\n  A: { ports: { api: 9200 } }\n  B: { ports: { api: 9201 } }\n',
      '6:15: cluster A already uses port 9201',
    ],
    [
      'clusters:\n  A:\nlinks:\n  - { kind: dr, primary: A, secondary: B }\n',
      '7:5: there is no cluster B; there are A',
    ],
    [
      'clusters:\n  A:\n  B:\nlinks:\n  - { kind: dr, primary: A, secondary: B, filter: { mode: deny, paths: [x/] } }\n',
      '8:51: only performance links can have filters',
    ],
    [
      'clusters:\n  A:\n  B: { seed: { mounts: { kv: } } }\nlinks:\n  - { kind: dr, primary: A, secondary: B }\n',
      '6:14: B is a DR secondary and cannot have a seed: add the seed to its primary',
    ],
    [
      'clusters:\n  A: { seed: { secrets: { kv/a: { b: c } } } }\n',
      '5:33: A has no mount for "kv/a": add it to seed.mounts',
    ],
    [
      'clusters:\n  A:\n  B:\nlinks:\n  - { kind: dr, primary: A, secondary: B }\n  - { kind: performance, primary: B, secondary: A }\n',
      '9:5: B is a DR secondary, and no cluster can replicate from a DR secondary',
    ],
    ['clusters:\n  A: &a\n    seed: *a\n', ' an alias refers to itself'],
    ['clusters:\n  A: [1\nlinks: 2', ''],
  ])('a topology file error names its position: %j', (rest, expected) => {
    const problems = problemsOf(rest)
    expect(
      problems.some((problem) => problem.startsWith(expected)),
      problems.join('\n'),
    ).toBe(true)
  })

  it('a topology file lists all its errors in the order of the file', () => {
    expect(
      problemsOf('clusters:\n  A: { sael: auto }\n', 'apiVersion: understudy/v2\nkind: Topolgy\nname: Mine\n'),
    ).toEqual([
      '1:13: apiVersion is "understudy/v2", but must be "understudy/v1"',
      '2:7: kind is "Topolgy", but must be "Topology"',
      '3:7: name is "Mine", but must be lowercase letters, digits and hyphens',
      '5:8: unknown key "clusters.A.sael"; did you mean "seal"?',
    ])
  })

  it('the topology schema contains only keys that the parser reads', () => {
    const keysOf = (schema: Schema): string[] => Object.keys(schema.properties ?? {})
    const { clusters, links, defaults } = TOPOLOGY_SCHEMA.properties ?? {}
    const cluster = clusters?.additionalProperties as Schema
    expect(keysOf(cluster).sort()).toEqual(
      ['license', 'nodes', 'ports', 'reach', 'seal', 'seed', 'settings', 'storage', 'tls', 'version'].sort(),
    )
    expect(keysOf(defaults ?? {}).every((key) => keysOf(cluster).includes(key))).toBe(true)
    expect(keysOf(links?.items ?? {}).sort()).toEqual(
      ['activation', 'filter', 'jitter', 'kind', 'latency', 'primary', 'secondary'].sort(),
    )
  })
})
