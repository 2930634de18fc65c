import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { systemClock } from '../../../../src/base/clock.js'
import { createSystemRandom } from '../../../../src/base/random.js'
import type { LabDaemonConfig } from '../../../../src/lab/daemon/run-lab-daemon.js'
import { exportCompose } from '../../../../src/lab/export/compose.js'
import { describeLeftOut, writeExport } from '../../../../src/lab/export/plan.js'
import { makeSecrets } from '../../../../src/lab/export/secrets.js'
import type { LabSettings } from '../../../../src/lab/model/settings.js'
import { requireTopology } from '../../../../src/lab/topology/catalogue.js'

interface ComposeFile {
  readonly services: Readonly<Record<string, Record<string, unknown> & { environment: Record<string, string> }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

const source = { topology: requireTopology('pr-dr') }
const read = (text: string) => parse(text) as ComposeFile

it('the compose export waits for healthy servers before it wires them, and publishes only to this machine', () => {
  const [file, ...others] = exportCompose(source, { image: 'registry.example/understudy' })
  expect([file?.path, others]).toEqual(['docker-compose.yml', []])
  const { services, volumes } = read(file?.text ?? '')
  expect(Object.keys(services)).toEqual(['links', 'a', 'b', 'c', 'wire', 'status', 'probe'])
  expect(services.b).toMatchObject({
    image: `\${UNDERSTUDY_IMAGE:-registry.example/understudy}`,
    labels: { 'understudy.cluster': 'B' },
    ports: [`127.0.0.1:\${B_PORT:-8210}:8200`],
  })
  expect(services.wire?.depends_on).toEqual({
    a: { condition: 'service_healthy' },
    b: { condition: 'service_healthy' },
    c: { condition: 'service_healthy' },
  })
  expect(services.status?.profiles).toEqual(['tools'])
  expect(Object.keys(volumes)).toEqual(['a-data', 'b-data', 'c-data', 'keys'])
  expect(file?.text).not.toContain('sleep')
})

it('the compose export has a lab daemon, and each server dials the others through its own proxies of it', () => {
  const topology = { ...source.topology, links: [{ kind: 'dr', primary: 'A', secondary: 'B', latencyMs: 40 }] } as const
  const { services } = read(exportCompose({ topology }, { image: 'understudy' })[0]?.text ?? '')
  const { links } = services
  expect(links).toMatchObject({ user: 'vault', ports: [`127.0.0.1:\${LINKS_PORT:-8475}:8475`, expect.anything()] })
  const config = JSON.parse(links?.environment.UNDERSTUDY_LAB_DAEMON ?? '') as LabDaemonConfig
  expect(config).toMatchObject({ host: '0.0.0.0', socket: 8475, toxiproxyPort: 8474 })
  expect(config.clusters[1]).toEqual({ name: 'B', apiAddress: 'http://b:8200' })
  const portsOf = (name: string): string[] =>
    [...(services[name]?.environment.VAULT_LOCAL_CONFIG ?? '').matchAll(/"(\w+:820[01])=links:(\d+)"/g)].map(
      ([, address, port]) => `${name} ${address} ${port}`,
    )
  const dialed = ['a', 'b', 'c'].flatMap(portsOf)
  expect(dialed.toSorted()).toEqual(
    config.routes.map(({ from, address, port }) => `${from.toLowerCase()} ${address} ${port}`).toSorted(),
  )
  expect(new Set(config.routes.map(({ port }) => port)).size).toBe(12)
  const delayed = config.routes.filter(({ latencyMs }) => latencyMs === 40).map(({ from, to }) => `${from}${to}`)
  expect(new Set(delayed)).toEqual(new Set(['AB', 'BA']))
  expect([describeLeftOut(topology, true), describeLeftOut(topology).length]).toEqual([[], 1])
})

it('the compose export without links connects the clusters directly', () => {
  const { services } = read(exportCompose(source, { image: 'understudy', hasLinks: false })[0]?.text ?? '')
  expect(Object.keys(services)).toEqual(['a', 'b', 'c', 'wire', 'status', 'probe'])
  expect(services.a).not.toHaveProperty('depends_on')
  expect(services.a?.environment.VAULT_LOCAL_CONFIG).not.toContain('dial_routes')
  const single = exportCompose({ topology: requireTopology('single') }, { image: 'understudy' })
  expect(Object.keys(read(single[0]?.text ?? '').services)).toEqual(['a', 'wire', 'status', 'probe'])
})

/** Line breaks of YAML 1.1 and 1.2, and terminal escape sequences. */
const SPLIT = 'first\nservices: {evil: {}}\rsecond\u0085third\u2028fourth\u2029fifth\u001b[2J'

it('the compose export keeps a topology description in one comment line, and rejects unknown settings', () => {
  const { topology } = source
  const [file] = exportCompose({ topology: { ...topology, about: SPLIT } }, { image: 'understudy' })
  const [head = ''] = (file?.text ?? '').split('\n')
  expect(head).toBe('# The topology pr-dr: first services: {evil: {}} second third fourth fifth [2J.')
  expect(Object.keys(read(file?.text ?? '').services)).not.toContain('evil')
  const name: string = 'lab_api = true\n  lab_api_token'
  const settings = { [name]: 'mine' } as LabSettings
  const strange = { ...topology, plans: { A: { settings } } }
  expect(() => exportCompose({ topology: strange }, { image: 'understudy' })).toThrow('lab_api')
})

it('the compose export for several machines: each knows the addresses of the others, and one wires all', () => {
  const hosts = new Map([
    ['A', '10.0.0.1'],
    ['B', '10.0.0.2'],
    ['C', '10.0.0.2'],
  ])
  const [first, second] = exportCompose(source, { image: 'understudy', hosts })
  expect([first?.path, second?.path]).toEqual(['10.0.0.1/docker-compose.yml', '10.0.0.2/docker-compose.yml'])
  const one = read(first?.text ?? '').services
  const two = read(second?.text ?? '').services
  expect([Object.keys(one), Object.keys(two)]).toEqual([
    ['a', 'wire', 'status', 'probe'],
    ['b', 'c'],
  ])
  expect(one.wire?.command).toEqual(expect.arrayContaining(['A=http://10.0.0.1:8200', 'C=http://10.0.0.2:8220']))
  expect(two.c?.ports).toEqual(['8220:8200', '8221:8201'])
  expect(two.c?.environment.VAULT_LOCAL_CONFIG).toContain('cluster_addr = "https://10.0.0.2:8221"')
})

it.each([
  [{ A: '10.0.0.1' }, '--hosts has no machine for B, C'],
  [{ A: '10.0.0.1', B: '127.0.0.1', C: '10.0.0.1' }, '127.0.0.1 refers to a different machine in each container'],
  [{ A: '10.0.0.1', B: '../x', C: '10.0.0.1' }, '"../x" is not the name or IPv4 address of a machine'],
  [{ A: '10.0.0.1', B: '10.0.0.1', C: '10.0.0.1', Q: '10.0.0.1' }, 'has no cluster Q'],
])('the compose export rejects machines %j', (hosts, why) => {
  expect(() => exportCompose(source, { image: 'understudy', hosts: new Map(Object.entries(hosts)) })).toThrow(why)
})

it('the compose export rejects what it does not support, reports omissions, and includes an own file', () => {
  const tls = { topology: { ...source.topology, plans: { B: { tls: true } } } }
  const hosts = new Map(['A', 'B', 'C'].map((name) => [name, '10.0.0.1']))
  expect(() => exportCompose(tls, { image: 'understudy', hosts })).toThrow('--hosts does not support TLS, which B uses')
  expect(describeLeftOut(requireTopology('lb'))).toEqual(['A is reached directly: the export has no load balancer'])
  const files = exportCompose({ ...source, fileText: 'kind: Topology\n' }, { image: 'understudy' })
  expect(files[1]).toEqual({ path: 'topology.yaml', text: 'kind: Topology\n' })
  expect(read(files[0]?.text ?? '').services.wire?.volumes).toContain('./topology.yaml:/vault/config/topology.yaml:ro')
})

it('the compose export has a service for each node of a cluster, and the nodes join', () => {
  const plans = { A: { nodes: 3, tls: true, seal: { type: 'auto', shares: 1, threshold: 1 } } } as const
  const topology = { name: 'n', about: '', clusters: ['A', 'B'], links: [], plans }
  const [file] = exportCompose({ topology }, { image: 'understudy' })
  const { services, volumes } = read(file?.text ?? '')
  expect(Object.keys(services)).toEqual(['secrets', 'links', 'a1', 'a2', 'a3', 'b', 'wire', 'status', 'probe'])
  expect(Object.keys(volumes)).toEqual(['a1-data', 'a2-data', 'a3-data', 'b-data', 'secrets', 'keys'])
  expect(services.secrets?.command).toEqual(expect.arrayContaining(['--tls', 'a1,a2,a3', '--seal', 'A']))
  expect(services.a2).toMatchObject({
    labels: { 'understudy.cluster': 'A', 'understudy.node': 'A2', 'understudy.tls': 'true' },
    ports: [`127.0.0.1:\${A2_PORT:-8202}:8200`],
  })
  const config = services.a2?.environment.VAULT_LOCAL_CONFIG ?? ''
  expect(config.match(/leader_api_addr = "[^"]+"/g)).toEqual(
    ['a1', 'a2', 'a3'].map((name) => `leader_api_addr = "https://${name}:8200"`),
  )
  for (const part of [
    'node_id = "a2"',
    'leader_ca_cert_file = "/vault/secrets/ca.pem"',
    'cluster_name = "A"',
    'A.key"',
  ])
    expect(config).toContain(part)
  expect(services.b?.environment.VAULT_LOCAL_CONFIG).not.toMatch(/retry_join|leader_lease/)
  expect(services.wire?.command).toEqual(expect.arrayContaining(['A3=https://a3:8200', 'B=http://b:8200']))
})

it('the compose export spreads nodes over machines if no key is needed on all of them', () => {
  const topology = { name: 'n', about: '', clusters: ['A', 'B'], links: [], plans: { A: { nodes: 3 } } } as const
  const hosts = new Map([
    ['A', '10.0.0.1'],
    ['A3', '10.0.0.2'],
    ['B', '10.0.0.2'],
  ])
  const [first, second] = exportCompose({ topology }, { image: 'understudy', hosts })
  const one = read(first?.text ?? '').services
  const two = read(second?.text ?? '').services
  expect([Object.keys(one), Object.keys(two)]).toEqual([
    ['a1', 'a2', 'wire', 'status', 'probe'],
    ['a3', 'b'],
  ])
  expect(two.a3?.ports).toEqual(['8204:8200', '8205:8201', '9204:9204'])
  const config = two.a3?.environment.VAULT_LOCAL_CONFIG ?? ''
  expect(config).toContain('etcd_peer_address = "10.0.0.2:9204"')
  expect(config.match(/leader_api_addr = "[^"]+"/g)).toEqual(
    ['10.0.0.1:8200', '10.0.0.1:8202', '10.0.0.2:8204'].map((address) => `leader_api_addr = "http://${address}"`),
  )
  expect(two.b?.environment.VAULT_LOCAL_CONFIG).not.toMatch(/retry_join|etcd_peer/)
  expect(one.wire?.command).toEqual(expect.arrayContaining(['A3=http://10.0.0.2:8204', 'B=http://10.0.0.2:8210']))
  const sealed = { A: { nodes: 3, seal: { type: 'auto', shares: 1, threshold: 1 } } } as const
  expect(() => exportCompose({ topology: { ...topology, plans: sealed } }, { image: 'understudy', hosts })).toThrow(
    'nodes of A on several machines',
  )
})

it('the compose export creates certificates and seal keys in a volume before the servers start', () => {
  const plans = { A: { tls: true }, B: { tls: true, seal: { type: 'auto', shares: 3, threshold: 2 } } } as const
  const [file] = exportCompose({ topology: { ...source.topology, plans } }, { image: 'understudy' })
  const { services, volumes } = read(file?.text ?? '')
  expect(Object.keys(volumes)).toContain('secrets')
  expect(services.secrets).toMatchObject({
    command: ['compose', 'secrets', '/vault/secrets', '--tls', 'a,b', '--seal', 'B'],
    volumes: ['secrets:/vault/secrets'],
  })
  expect(services.b).toMatchObject({
    labels: { 'understudy.tls': 'true' },
    volumes: ['b-data:/vault/file', 'secrets:/vault/secrets:ro'],
    depends_on: { secrets: { condition: 'service_completed_successfully' } },
  })
  const config = services.b?.environment.VAULT_LOCAL_CONFIG ?? ''
  for (const part of ['cert.pem"', 'key.pem"', 'api_addr     = "https://b:8200"', '"file:///vault/secrets/B.key"'])
    expect(config).toContain(part)
  // Without its own TLS, it still gets the certificate authority of its primary.
  expect(services.c).toMatchObject({
    volumes: ['c-data:/vault/file', 'secrets:/vault/secrets:ro'],
    depends_on: { secrets: { condition: 'service_completed_successfully' } },
  })
  expect(services.c?.environment.VAULT_LOCAL_CONFIG).toMatch(/tls_disable +=/)
  expect(services.wire?.command).toEqual(
    expect.arrayContaining(['--ca-cert', '/vault/secrets/ca.pem', 'A=https://a:8200', 'C=http://c:8200']),
  )
  expect(services.status?.command).toContainEqual(expect.stringContaining('--ca-cert /vault/secrets/ca.pem'))
})

it('the compose export gives no secrets to a cluster without a TLS primary', () => {
  const plans = { B: { tls: true } } as const
  const [file] = exportCompose({ topology: { ...source.topology, plans } }, { image: 'understudy' })
  expect(read(file?.text ?? '').services.c?.depends_on).toEqual({ links: { condition: 'service_healthy' } })
})

it('the compose export creates each secret once, readable by the owner only', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  try {
    const surroundings = { random: createSystemRandom(), nowMs: systemClock.now() }
    const make = (hosts: readonly string[], nowMs = surroundings.nowMs) =>
      makeSecrets(directory, { hosts, clusters: ['A'] }, { ...surroundings, nowMs })
    expect(await make(['a', 'b'])).toHaveLength(2)
    const texts = () => ['key.pem', 'A.key'].map((name) => readFileSync(path.join(directory, name), 'utf8'))
    const [first = '', key = ''] = texts()
    expect(key).toMatch(/^[0-9a-f]{64}\n$/)
    for (const name of ['key.pem', 'A.key']) expect(statSync(path.join(directory, name)).mode & 0o777).toBe(0o600)
    expect(readdirSync(directory).sort()).toEqual(['A.key', 'ca.pem', 'cert.pem', 'key.pem'])

    expect([await make(['b', 'a']), texts()]).toEqual([[], [first, key]])
    expect([await make(['a', 'b', 'c']), texts()[0] === first, texts()[1]]).toEqual([
      ['a certificate for a, b, c'],
      false,
      key,
    ])
    const oneYear = 366 * 86_400_000
    expect(await make(['a'], surroundings.nowMs + oneYear)).toEqual([])
    expect(await make(['a'], surroundings.nowMs + oneYear + 30 * 86_400_000)).toEqual(['a certificate for a'])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

it('the compose export replaces no file without being told to', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  try {
    const write = (text: string, isForced = false) => writeExport(directory, [{ path: 'x/y', text }], isForced)
    write('one')
    expect(() => write('two')).toThrow('already exists')
    write('two', true)
    expect(readFileSync(path.join(directory, 'x/y'), 'utf8')).toBe('two')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
