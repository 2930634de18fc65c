import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DOMParser, onErrorStopParsing } from '@xmldom/xmldom'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type {
  DrillResult,
  ObservedLab,
  ObservedCluster,
  ObservedRole,
  Sample,
  StepResult,
} from '../../../../src/lab/drills/context/result.js'
import { toHtml } from '../../../../src/lab/report/html.js'
import { toJunit, writeReport } from '../../../../src/lab/report/report.js'

/** A drill as it might have gone: a failover of three clusters that lost two writes. */

const OFF: ObservedRole = { mode: 'disabled', state: '', connectionState: '', merkleRoot: '', lastWal: null }
const ROOT = 'd4'.repeat(20)
const primary: ObservedRole = { mode: 'primary', state: 'running', connectionState: '', merkleRoot: ROOT, lastWal: 812 }
const secondary: ObservedRole = { ...primary, mode: 'secondary', state: 'stream-wals', connectionState: 'ready' }
const cluster = (
  name: string,
  dr: ObservedRole,
  performance: ObservedRole,
  health: number | null = 200,
): ObservedCluster => ({
  name,
  health,
  dr,
  performance,
})

const BEFORE: ObservedLab = {
  atMs: 0,
  clusters: [cluster('A', primary, primary), cluster('B', secondary, OFF, 472), cluster('C', OFF, secondary, 473)],
  links: [
    { kind: 'dr', primary: 'A', secondary: 'B', isConnected: true },
    { kind: 'performance', primary: 'A', secondary: 'C', isConnected: true },
  ],
}

const UNKNOWN: ObservedRole = { ...OFF, mode: 'unknown' }
const AFTER: ObservedLab = {
  atMs: 9100,
  clusters: [cluster('A', UNKNOWN, UNKNOWN, null), cluster('B', primary, primary), cluster('C', OFF, secondary, 473)],
  links: [{ kind: 'performance', primary: 'B', secondary: 'C', isConnected: true }],
}

const step = (
  name: string,
  verb: string,
  startedMs: number,
  tookMs: number,
  more: Partial<StepResult> = {},
): StepResult => ({
  phase: 'drill',
  name,
  verb,
  detail: `${verb} of the fixture`,
  commands: [],
  startedMs,
  tookMs,
  outcome: 'passed',
  ...more,
})

const isDown = (atMs: number) => atMs > 3000 && atMs <= 5600

const samples = (): Sample[] =>
  Array.from({ length: 46 }, (_, index) => {
    const atMs = (index + 1) * 200
    return {
      atMs,
      accepted: isDown(atMs) ? 0 : 18 + ((index * 7) % 5),
      refused: isDown(atMs) ? 9 : 0,
      reads: isDown(atMs) ? 30 : 41 + ((index * 5) % 9),
      readsRefused: isDown(atMs) ? 11 : 0,
      lag:
        atMs > 3000
          ? { 'A>B dr': null, 'A>C performance': null }
          : { 'A>B dr': (index * 3) % 7, 'A>C performance': index % 4 },
    }
  })

const PROMOTE =
  'vault write -address=http://127.0.0.1:8210 sys/replication/dr/secondary/promote dr_operation_token="$DR_OPERATION_TOKEN"'

const drillResult = (change: Partial<DrillResult> = {}): DrillResult => ({
  apiVersion: 'understudy/v1',
  kind: 'DrillResult',
  drill: 'dr-failover',
  purpose:
    'The primary is lost without warning; its DR secondary takes over, and whoever held a token goes on with it.',
  symptom: 'Every request to the primary is refused or times out; the DR secondary answers 472 to health checks.',
  fix: 'Promote the DR secondary with an operation token, and lead the clients there.',
  topology: 'pr-dr',
  runner: 'process',
  seed: '42',
  versions: { understudy: '0.1.0', node: '20.20.0', servers: { A: '1.20.4+ent', B: '1.20.4+ent', C: '1.20.4+ent' } },
  startedAt: '2026-11-22T11:19:29.412Z',
  durationMs: 9200,
  steps: [
    step('the primary is lost', 'crash', 3010, 62, { commands: ['understudy crash A'] }),
    step('an operation token from the key shares', 'operation-token', 3075, 240, {
      commands: [
        'vault write -address=http://127.0.0.1:8210 -f sys/replication/dr/secondary/generate-operation-token/attempt',
      ],
    }),
    step('B takes over', 'promote', 3320, 2130, { commands: [PROMOTE] }),
    step('clients are served again', 'wait', 5450, 190),
    step('C follows B', 'wait', 5640, 2900),
  ],
  expectations: [
    {
      text: 'rto at most 60 s',
      passed: true,
      evidence: ['2.6 s from the first refused write to the first that B accepted'],
    },
    {
      text: 'no acknowledged write is lost',
      passed: false,
      evidence: ['2 of 812 acknowledged writes are missing', 'secret/drill/w2-118 was acknowledged by A at +2.97 s'],
    },
    { text: 'all tokens survive', passed: true, evidence: ['3 of 3 tokens work on B'] },
    { text: 'the merkle roots of B and C are equal', passed: true, evidence: [`both ${ROOT}`] },
  ],
  rto: {
    ms: 2598,
    sloMs: 60_000,
    fromMs: 3012,
    toMs: 5610,
    acceptedBy: 'B',
    byClient: {
      'old-token': { ms: 2598, fromMs: 3012, toMs: 5610 },
      'new-login': { ms: 2640, fromMs: 3020, toMs: 5660 },
      reader: { ms: 2550, fromMs: 3015, toMs: 5565 },
    },
  },
  rpo: {
    writesLost: 2,
    sloWrites: 0,
    acknowledged: 812,
    readBack: 810,
    lost: [
      { key: 'secret/drill/w2-118', ackedMs: 2970, cluster: 'A', client: 'old-token' },
      { key: 'secret/drill/w3-117', ackedMs: 2995, cluster: 'A', client: 'new-login' },
    ],
    seconds: 0.025,
    byClient: { 'old-token': { acknowledged: 610, lost: 1 }, 'new-login': { acknowledged: 202, lost: 1 } },
  },
  tokens: { survived: 3, total: 3, lost: [] },
  discarded: [
    {
      cluster: 'A',
      entries: 2,
      paths: ['secret/drill/w2-118', 'secret/drill/w3-117'],
      restored: { tokens: 2, secretIds: 0 },
    },
  ],
  samples: samples(),
  events: [
    { atMs: 3050, kind: 'process', cluster: 'A', details: { from: 'running', to: 'stopped' } },
    {
      atMs: 3330,
      kind: 'call',
      cluster: 'B',
      details: { path: 'sys/replication/dr/secondary/promote' },
      command: PROMOTE,
    },
    { atMs: 5440, kind: 'role', cluster: 'B', details: { replication: 'dr', from: 'secondary', to: 'primary' } },
    {
      atMs: 7900,
      kind: 'replication',
      cluster: 'C',
      details: { replication: 'performance', from: 'stream-wals, transient_failure', to: 'stream-wals, ready' },
    },
  ],
  before: BEFORE,
  after: AFTER,
  audit: { operator: 'Ada', approver: 'Grace', change: 'CHG-17', environment: '' },
  calls: [
    {
      atMs: 3325,
      cluster: 'B',
      method: 'PUT',
      path: 'sys/replication/dr/secondary/promote',
      command: PROMOTE,
      status: 200,
      tookMs: 2110,
    },
  ],
  howToRepeat: 'understudy drill run dr-failover --on process --seed 42 --slo rto=60s,rpo=0',
  verdict: 'failed',
  error: null,
  ...change,
})

const HOSTILE = `<script>alert(1)</script>&"'\u0000\u0007\ud800]]><!--`

/** Replaces every text in a value, except for those that a type lists. */
const poison = (value: unknown, key = ''): unknown => {
  if (typeof value === 'string') return KEPT.has(key) ? value : `${value}${HOSTILE}`
  if (Array.isArray(value)) return value.map((one) => poison(one, key))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [KEYED.has(key) ? `${name}${HOSTILE}` : name, poison(one, name)]),
  )
}
const KEPT = new Set(['verdict', 'outcome', 'runner', 'mode', 'client', 'apiVersion', 'startedAt'])
const KEYED = new Set(['servers', 'lag', 'details'])

interface Found {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
}

/** Returns the elements in document order. Throws if the XML is not well-formed. */
const readXml = (xml: string): Found[] => {
  const parser = new DOMParser({ onError: onErrorStopParsing })
  return [...parser.parseFromString(xml, 'text/xml').getElementsByTagName('*')].map((element) => ({
    name: element.tagName,
    attributes: Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value])),
    text: element.textContent ?? '',
  }))
}

const named = (elements: readonly Found[], name: string) => elements.filter((element) => element.name === name)

describe('junit.xml', () => {
  it('junit.xml has a counted test case for every step and expectation', () => {
    const result = drillResult()
    const elements = readXml(toJunit(result))
    const names = named(elements, 'testcase').map(({ attributes }) => attributes.name)
    expect(names).toEqual([
      ...result.steps.map(({ name }, index) => `step ${index + 1}: ${name}`),
      ...result.expectations.map(({ text }) => `expects ${text}`),
    ])
    expect(named(elements, 'testsuite')[0]?.attributes).toMatchObject({
      name: 'dr-failover',
      tests: '9',
      failures: '1',
      errors: '0',
      skipped: '0',
      time: '9.200',
      timestamp: '2026-11-22T11:19:29',
    })
    const properties = named(elements, 'property').map(({ attributes }) => attributes)
    expect(properties).toContainEqual({ name: 'change', value: 'CHG-17' })
    expect(properties).toContainEqual({ name: 'environment', value: '' })
  })

  it('junit.xml shows each failure with its evidence', () => {
    const [failure, ...others] = named(readXml(toJunit(drillResult())), 'failure')
    expect(others).toEqual([])
    expect(failure?.attributes.message).toBe('2 of 812 acknowledged writes are missing')
    expect(failure?.text).toContain('secret/drill/w2-118')
  })

  it.each([
    [1375.444195000001, '1375'],
    [null, 'no recovery'],
  ])('junit.xml shows an RTO of %s in whole milliseconds', (ms, value) => {
    const { rto } = drillResult()
    const elements = readXml(toJunit(drillResult({ rto: rto && { ...rto, ms } })))
    const found = named(elements, 'property').find(({ attributes }) => attributes.name === 'rto-ms')
    expect(found?.attributes.value).toBe(value)
  })

  it('junit.xml shows an aborted drill as an error and its remaining steps as skipped', () => {
    const [first, ...rest] = drillResult().steps
    const steps = [
      ...(first ? [{ ...first, outcome: 'failed' as const, error: 'no answer' }] : []),
      ...rest.map((step) => ({ ...step, outcome: 'skipped' as const })),
    ]
    const elements = readXml(toJunit(drillResult({ steps, expectations: [], verdict: 'error', error: 'B is gone' })))
    expect(named(elements, 'testsuite')[0]?.attributes).toMatchObject({
      tests: '6',
      failures: '1',
      errors: '1',
      skipped: '4',
    })
    expect(named(elements, 'failure')[0]?.text).toBe('no answer')
    expect(named(elements, 'error')[0]?.attributes.message).toBe('B is gone')
  })

  it('junit.xml is well-formed for any text', () => {
    const xml = toJunit(poison(drillResult()) as DrillResult)
    expect(named(readXml(xml), 'script')).toEqual([])
    for (const character of ['\u0000', '\u0007', '\ud800']) expect(xml).not.toContain(character)
    expect(
      readXml(xml).some(({ attributes }) => String(attributes.name).includes('<script>alert(1)</script>&"\'')),
    ).toBe(true)
  })
})

describe('report.html', () => {
  it('report.html shows verdict, figures and limits, evidence, calls, losses, and the command to run it again', () => {
    const html = toHtml(drillResult())
    for (const text of [
      '>Failed<',
      '>2.6 s<',
      'limit 60 s',
      'of 812 acknowledged; limit 0',
      '>3 of 3<',
      'secret/drill/w3-117',
      '2 of 812 acknowledged writes are missing',
      'A → B, DR: at most 6 entries behind',
      'generate-operation-token/attempt',
      '1.20.4+ent',
      '22 November 2026, 11:19:29 UTC',
      '<dt>Operator</dt><dd>Ada</dd><dt>Approver</dt><dd>Grace</dd><dt>Change</dt><dd>CHG-17</dd>',
      '<dt>Environment</dt><dd>–</dd>',
    ])
      expect(html).toContain(text)
    expect(html.replace(/<\/?span>/g, '')).toContain('understudy drill run dr-failover --on process --seed 42')
  })

  it('report.html names each step once, and not among the events', () => {
    const events: DrillResult['events'] = [
      { atMs: 10, kind: 'drill', details: { step: 'only a step' } },
      { atMs: 20, kind: 'seal', cluster: 'B', details: { to: 'only an event' } },
    ]
    const html = toHtml({ ...drillResult(), events })
    expect(html).toContain('only an event')
    expect(html.slice(html.indexOf('<h3>Events'))).not.toContain('only a step')
  })

  it('report.html draws every cluster before and after, also in words', () => {
    const html = toHtml(drillResult())
    expect(html).toContain(
      'A: primary, serves clients; B: DR secondary, stream-wals; C: performance secondary, stream-wals; B follows A (DR)',
    )
    expect(html).toContain('A: role unknown, no response; B: primary, serves clients')
  })

  it('report.html draws well-formed SVG, even if clusters follow each other', () => {
    const { after } = drillResult()
    const links = [
      { kind: 'dr', primary: 'A', secondary: 'B', isConnected: true },
      { kind: 'dr', primary: 'B', secondary: 'A', isConnected: false },
      { kind: 'dr', primary: 'B', secondary: 'nowhere', isConnected: false },
    ] as const
    const html = toHtml(drillResult({ after: after && { ...after, links } }))
    const drawings = html.match(/<svg[\s\S]*?<\/svg>/g) ?? []
    expect(drawings.length).toBeGreaterThan(10)
    for (const drawing of drawings) expect(readXml(drawing)[0]?.name).toBe('svg')
    expect(html).not.toMatch(/NaN|Infinity|undefined/)
  })

  it('report.html lets no text become markup', () => {
    const html = toHtml(poison(drillResult()) as DrillResult)
    expect(html).not.toContain('<script')
    expect(html).not.toContain('<!--')
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;')
    for (const drawing of html.match(/<svg[\s\S]*?<\/svg>/g) ?? []) readXml(drawing)
    // Every attribute ends where it should.
    expect(html.match(/data-head="[^"<]*"/g)).toHaveLength(html.split('data-head=').length - 1)
  })

  it('report.html loads and runs nothing, and its policy allows only its own style', () => {
    const html = toHtml(drillResult())
    expect(html).not.toMatch(/<script|<link|<img|\bsrc=|\bhref=|url\(|@import|\son\w+=|\sstyle=/)
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
    expect(html).toContain(`default-src &#39;none&#39;; style-src &#39;sha256-${hash('sha256', style, 'base64')}&#39;`)
  })

  it('report.html names the log entries that a former primary discarded, and the credentials that came back', () => {
    const html = toHtml(drillResult()).replace(/<[^>]*>/g, ' ')
    expect(html).toMatch(
      /Log entries that a former primary discarded\s+cluster\s+log entries\s+paths\s+credentials that came back\s+A\s+2\s+secret\/drill\/w2-118, secret\/drill\/w3-117\s+2 tokens/,
    )
    expect(toHtml(drillResult({ discarded: [] }))).not.toContain('discarded')
  })

  it('report.html shows a missing measurement as such, instead of zero', () => {
    const empty = {
      rto: null,
      rpo: null,
      tokens: null,
      before: null,
      after: null,
      samples: [],
      events: [],
      calls: [],
      steps: [],
    }
    const html = toHtml(drillResult({ ...empty, verdict: 'error', error: 'no cluster came up', durationMs: 0 }))
    expect(html).toContain('Not completed')
    expect(html).toContain('no cluster came up')
    expect(html).not.toMatch(/RTO|RPO|NaN|Infinity|undefined/)
  })

  it('report.html folds a long list and keeps every key of it', () => {
    const { rpo } = drillResult()
    const [one] = rpo?.lost ?? []
    const lost = one ? Array.from({ length: 300 }, (_, index) => ({ ...one, key: `secret/drill/k${index}` })) : []
    const html = toHtml(drillResult({ rpo: rpo && { ...rpo, writesLost: 300, lost } }))
    expect(html).toContain('<summary>288 more</summary>')
    for (const { key } of lost) expect(html).toContain(`>${key}<`)
  })
})

describe('a written report', () => {
  let directory = ''
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'understudy-report-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('a written report consists of four files in a directory that is created if needed', () => {
    const target = path.join(directory, 'out', 'drill')
    const files = writeReport(target, drillResult())
    expect(readdirSync(target).sort()).toEqual(['SHA256SUMS', 'junit.xml', 'report.html', 'report.json'])
    expect(files.map((file) => path.dirname(file))).toEqual([target, target, target, target])
    expect(JSON.parse(readFileSync(path.join(target, 'report.json'), 'utf8'))).toEqual(drillResult())
  })

  it.runIf(process.platform === 'linux')('sha256sum verifies a written report, and finds a changed file', () => {
    writeReport(directory, drillResult())
    const verify = () => spawnSync('sha256sum', ['-c', '--quiet', 'SHA256SUMS'], { cwd: directory }).status
    expect(verify()).toBe(0)
    writeFileSync(path.join(directory, 'report.html'), 'changed')
    expect(verify()).toBe(1)
  })

  it('a written report contains no token and no key share', () => {
    const jwt = 'eyJhbGciOiJFUzUxMiJ9.eyJhZGRyIjoiIn0.c2lnbmF0dXJl'
    const secrets = [`hvs.${'x'.repeat(24)}`, `hvb.${'y'.repeat(40)}`, jwt, 'a1b2c3d4'.repeat(8)]
    const [hvs = '', hvb = '', , share = ''] = secrets
    const command = `vault write x token=${jwt} dr_operation_token='${hvb}' key=${share}`
    const steps = drillResult().steps.map((step) => ({ ...step, commands: [command], error: `refused ${hvs}` }))
    writeReport(directory, drillResult({ steps, error: `no luck with ${hvs}` }))
    for (const name of readdirSync(directory)) {
      const text = readFileSync(path.join(directory, name), 'utf8')
      for (const secret of secrets) expect(text).not.toContain(secret)
    }
    const { steps: read } = JSON.parse(readFileSync(path.join(directory, 'report.json'), 'utf8')) as DrillResult
    expect(read[0]?.commands).toEqual([
      "vault write x token='<token>' dr_operation_token='<dr_operation_token>' key='<key>'",
    ])
  })

  it('a written report keeps a shell variable, which is no secret', () => {
    writeReport(directory, drillResult())
    expect(readFileSync(path.join(directory, 'report.json'), 'utf8')).toContain('$DR_OPERATION_TOKEN')
  })

  it.runIf(process.platform === 'linux')('a written report fails at once if the system creates no directory', () => {
    expect(() => writeReport('/proc/nothing/here', drillResult())).toThrow('cannot create /proc/nothing/here: ENOENT')
  })

  it('a written report names the directory that cannot be created', () => {
    const file = path.join(directory, 'file')
    writeFileSync(file, '')
    expect(() => writeReport(path.join(file, 'out'), drillResult())).toThrow(/cannot create .*file\/out: /)
  })
})
