import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { exportCompose } from '../../../../src/lab/export/compose.js'
import { judgeExport } from '../../../../src/lab/export/plan.js'
import { writeExport } from '../../../../src/lab/export/write-files.js'
import { requireTopology } from '../../../../src/lab/topology/catalogue.js'

interface ComposeFile {
  readonly services: Readonly<Record<string, Record<string, unknown> & { environment: Record<string, string> }>>
  readonly volumes: Readonly<Record<string, unknown>>
}

const source = { topology: requireTopology('pr-dr') }
const read = (text: string) => parse(text) as ComposeFile

it('waits for healthy servers before it wires them, and publishes nothing beyond this machine', () => {
  const [file, ...others] = exportCompose(source, { image: 'registry.example/understudy' })
  expect([file?.path, others]).toEqual(['docker-compose.yml', []])
  const { services, volumes } = read(file?.text ?? '')
  expect(Object.keys(services)).toEqual(['a', 'b', 'c', 'wire', 'status', 'probe'])
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

it('splits over machines: each is told the addresses of the others, and one wires them all', () => {
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
  [{ A: '10.0.0.1' }, 'does not say where B, C is to run'],
  [{ A: '10.0.0.1', B: '127.0.0.1', C: '10.0.0.1' }, '127.0.0.1 is another machine to each container'],
  [{ A: '10.0.0.1', B: '../x', C: '10.0.0.1' }, '"../x" is not the name or IPv4 address of a machine'],
  [{ A: '10.0.0.1', B: '10.0.0.1', C: '10.0.0.1', Q: '10.0.0.1' }, 'has no cluster Q'],
])('refuses machines %j', (hosts, why) => {
  expect(() => exportCompose(source, { image: 'understudy', hosts: new Map(Object.entries(hosts)) })).toThrow(why)
})

it('refuses what it cannot have, says what it leaves out, and hands a file of your own on', () => {
  const tls = { ...source.topology, plans: { B: { tls: true } } }
  expect(() => judgeExport(tls, false)).toThrow('B has TLS')
  expect(judgeExport(requireTopology('lb'), false)).toEqual(['A is reached directly: the export has no load balancer'])
  const files = exportCompose({ ...source, fileText: 'kind: Topology\n' }, { image: 'understudy' })
  expect(files[1]).toEqual({ path: 'topology.yaml', text: 'kind: Topology\n' })
  expect(read(files[0]?.text ?? '').services.wire?.volumes).toContain('./topology.yaml:/vault/config/topology.yaml:ro')
})

it('replaces no file unless it is told to', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  try {
    const write = (text: string, isForced = false) => writeExport(directory, [{ path: 'x/y', text }], isForced)
    write('one')
    expect(() => write('two')).toThrow('is there already')
    write('two', true)
    expect(readFileSync(path.join(directory, 'x/y'), 'utf8')).toBe('two')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
