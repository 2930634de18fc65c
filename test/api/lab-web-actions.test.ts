import { writeFileSync } from 'node:fs'
import type http from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeOwnApi } from '../../src/server/own-api/document.js'
import type { PageAction, PageChoices, PagePlan } from '../../src/lab/web/page-facts.js'
import type { PageJob } from '../../src/lab/web/page-job.js'
import { findMismatch, type Schema } from '../support/json-schema.js'
import { LabHome } from '../support/lab-home.js'
import { ask, Listener, type PageAnswer } from '../support/page-client.js'
import type { Program } from '../support/program.js'
import { until } from '../support/until.js'

/** The actions of a lab's page, their permissions, and their equivalence to the command line. */

interface Content {
  readonly schema: Schema
  readonly example?: unknown
}
interface Operation {
  readonly requestBody?: { readonly content: { readonly 'application/json': Content } }
  readonly responses: Readonly<Record<string, { readonly content?: { readonly 'application/json'?: Content } }>>
}
const { paths } = describeOwnApi('0') as unknown as { paths: Record<string, Record<string, Operation>> }

const ACTIONS = '/_understudy/v1/actions'
const EVENTS = '/_understudy/v1/events'

let home: LabHome
let program: Program
let origin: string
let cookie: string
let listener: Listener

const enter = async (begun: Program): Promise<{ origin: string; cookie: string }> => {
  await begun.untilPrinted('the link works once')
  const link = begun.stdout.trim()
  const [set = ''] = (await ask(link)).headers['set-cookie'] ?? []
  return { origin: new URL(link).origin, cookie: set.split(';')[0] ?? '' }
}

const send = (method: string, at: string, body?: unknown, more: http.OutgoingHttpHeaders = {}): Promise<PageAnswer> => {
  const headers = { cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...more }
  return ask(origin + ACTIONS + at, headers, method, body === undefined ? undefined : JSON.stringify(body))
}

/** Returns a response, which must match its schema. */
const take = async <T>(method: string, at: string, body?: unknown): Promise<T> => {
  const { status, text } = await send(method, at, body)
  expect(status, text).toBe(200)
  const operation = paths[`${ACTIONS}${at}`]?.[method.toLowerCase()]
  const schema = operation?.responses['200']?.content?.['application/json']?.schema
  expect(schema && findMismatch(schema, JSON.parse(text))).toBeUndefined()
  return JSON.parse(text) as T
}

/** Waits for the final result of an action. */
const endOf = async ({ id }: PageJob): Promise<PageJob> => {
  await until(() => listener.jobs.get(id)?.state !== 'running' && listener.jobs.has(id))
  return listener.jobs.get(id) as PageJob
}
const run = async (action: PageAction): Promise<PageJob> => endOf(await take<PageJob>('POST', '', action))
const done = async (action: PageAction): Promise<PageJob> => {
  const work = await run(action)
  expect(work, work.outcome).toMatchObject({ state: 'done' })
  return work
}
const modeOf = (cluster: string) => listener.survey?.clusters.find(({ name }) => name === cluster)?.dr.mode
const isWell = () => listener.survey?.problems.length === 0

beforeAll(async () => {
  home = new LabHome()
  const up = await home.run('up', 'pr-dr', '--ports', 'random')
  expect(up.status, up.stderr).toBe(0)
  program = home.begin('web')
  ;({ origin, cookie } = await enter(program))
  listener = new Listener(origin + EVENTS, { cookie })
  await until(isWell)
})
afterAll(async () => {
  listener?.[Symbol.dispose]()
  await program?.[Symbol.asyncDispose]()
  await home.run('down')
  await home[Symbol.asyncDispose]()
})

describe('who may do something', () => {
  const cut: PageAction = { verb: 'cut', clusters: ['A', 'B'] }

  it('the lab page accepts actions only with its session and from its own origin', async () => {
    for (const [status, headers] of [
      [401, { cookie: '' }],
      [403, { origin: 'http://rebound.example' }],
      [403, { origin: 'http://127.0.0.1:1' }],
      [403, { 'sec-fetch-site': 'cross-site' }],
      [403, { 'sec-fetch-site': 'same-site' }],
      [403, { host: 'rebound.example' }],
      [415, { 'content-type': 'text/plain' }],
      [415, { 'content-type': 'application/x-www-form-urlencoded' }],
    ] as const)
      for (const at of ['', '/plan'])
        expect((await send('POST', at, cut, headers)).status, JSON.stringify(headers)).toBe(status)
    expect(await send('PUT', '', cut)).toMatchObject({ status: 405 })
    expect(await send('POST', '/none', cut)).toMatchObject({ status: 404 })
    expect((await home.run('fault', 'ls')).stderr).toContain('there are no active faults')
    expect(listener.jobs.size).toBe(0)
  })

  it('the lab page gets the root token of the lab only with its session and from its own origin', async () => {
    const { rootToken } = home.record('default').clusters.find(({ name }) => name === 'A') ?? { rootToken: '' }
    for (const [status, headers] of [
      [401, { cookie: '' }],
      [403, { origin: 'http://127.0.0.1:1' }],
      [403, { 'sec-fetch-site': 'same-site' }],
      [403, { host: 'rebound.example' }],
      [415, { 'content-type': 'text/plain' }],
    ] as const) {
      const refused = await send('POST', '/root-token', { cluster: 'A' }, headers)
      expect(refused.status, JSON.stringify(headers)).toBe(status)
      expect(refused.text).not.toContain(rootToken)
    }
    expect(await take('POST', '/root-token', { cluster: 'A' })).toEqual({ token: rootToken })
    expect(await send('POST', '/root-token', { cluster: 'B' })).toMatchObject({
      status: 502,
      text: expect.stringContaining('B is a DR secondary: it accepts no token'),
    })
    for (const body of [{}, [], { cluster: 7 }, { cluster: 'Q' }])
      expect((await send('POST', '/root-token', body)).status, JSON.stringify(body)).toBe(400)
  })

  it('the read-only lab page accepts no action', async () => {
    await using second = home.begin('web', '--read-only')
    const only = await enter(second)
    using watcher = new Listener(only.origin + EVENTS, { cookie: only.cookie })
    await until(() => watcher.survey !== undefined)
    expect(watcher.survey?.actions).toEqual({})
    const headers = { cookie: only.cookie, 'content-type': 'application/json' }
    for (const [method, at] of [
      ['POST', ''],
      ['POST', '/plan'],
      ['POST', '/root-token'],
      ['GET', ''],
      ['DELETE', '/1'],
    ] as const)
      expect(
        await ask(only.origin + ACTIONS + at, headers, method, method === 'POST' ? JSON.stringify(cut) : undefined),
      ).toMatchObject({
        status: 403,
        text: JSON.stringify({ errors: ['this page is read-only'] }),
      })
  })

  it('the lab page rejects an invalid action and runs no part of it', async () => {
    const wrong: unknown[] = [
      [],
      { verb: 'none', clusters: [] },
      { verb: 'constructor', clusters: [] },
      { verb: 'crash', clusters: [] },
      { verb: 'crash', clusters: 'A' },
      { verb: 'crash', clusters: ['Q'] },
      { verb: 'cut', clusters: ['A', 'A'] },
      { verb: 'cut', clusters: ['A', 'B'], at: 'x' },
      { verb: 'latency', clusters: ['A', 'B'] },
      { verb: 'latency', clusters: ['A', 'B'], ms: -1 },
      { verb: 'promote', clusters: ['B'] },
      { verb: 'promote', clusters: ['B'], kind: 'none' },
      { verb: 'drill', clusters: [], name: '../drill.yaml' },
      { verb: 'drill', clusters: [], name: 'drill.yaml' },
      { verb: 'save', clusters: [], name: '/tmp/x.snapshot' },
      { verb: 'save', clusters: [], name: '<img src=x>' },
    ]
    for (const action of wrong) {
      const { status, text } = await send('POST', '/plan', action)
      expect([status, JSON.parse(text)], JSON.stringify(action)).toEqual([400, { errors: [expect.any(String)] }])
    }
    expect(await send('POST', '', undefined, { 'content-type': 'application/json' })).toMatchObject({ status: 400 })
    expect(await send('DELETE', '/99')).toMatchObject({ status: 400 })
  })
})

describe('what would be done', () => {
  it('the plan of an action shows the steps of its runbook without secrets and without effects', async () => {
    const plan = await take<PagePlan>('POST', '/plan', { verb: 'failover', clusters: ['A', 'B'] })
    expect(plan).toMatchObject({ isDestructive: true, command: 'understudy failover A B' })
    expect(plan.steps.map(({ title, command }) => [title, command])).toEqual([
      ['Generate a one-time password for the token of B', expect.stringContaining('-dr-token -generate-otp')],
      ['Start the generation of a DR operation token on B', expect.stringContaining('-dr-token -init -otp="$OTP"')],
      ['Submit key share 1 of 1 on B', expect.stringContaining('"$KEY_SHARE" | vault operator generate-root')],
      ['Decode the DR operation token of B', expect.stringContaining('-dr-token -decode=')],
      ['Demote A', expect.stringContaining('sys/replication/dr/primary/demote')],
      ['Wait for A to be a secondary', expect.stringContaining('-field=mode sys/replication/dr/status')],
      ['Promote B to DR primary', expect.stringContaining('promote dr_operation_token="$DR_OPERATION_TOKEN"')],
      ['Wait for B to be the DR primary', expect.stringContaining('-field=mode sys/replication/dr/status')],
    ])
    expect([modeOf('A'), modeOf('B')]).toEqual(['primary', 'secondary'])
  })

  it('the lab page explains why an action is impossible', async () => {
    for (const [action, words] of [
      [{ verb: 'failover', clusters: ['A', 'C'] }, 'C is not a DR secondary'],
      [{ verb: 'demote', clusters: ['B'], kind: 'dr' }, 'B is not a DR primary'],
      [{ verb: 'promote', clusters: ['A'], kind: 'performance' }, 'A is not a performance secondary'],
    ] as const) {
      const { status, text } = await send('POST', '/plan', action)
      expect([status, text], words).toEqual([502, expect.stringContaining(words)])
      expect(await run(action)).toMatchObject({ state: 'failed', outcome: expect.stringContaining(words) })
    }
  })

  it('the lab page offers the existing drills and snapshots by name, and never by file', async () => {
    const place = path.join(home.directory, 'understudy', 'snapshots')
    await done({ verb: 'save', clusters: [], name: 'begin' })
    writeFileSync(path.join(place, 'broken.snapshot'), '')
    const { drills, snapshots } = await take<PageChoices>('GET', '')
    expect(snapshots).toEqual(['begin', 'broken'])
    expect(drills.map(({ name }) => name)).toContain('dr-failover')
    expect(drills.find(({ name }) => name === 'dr-failover')).toMatchObject({
      topology: 'pr-dr',
      purpose: expect.stringContaining('The primary is lost without warning'),
      duration: expect.stringMatching(/^\d+s$/),
    })
    expect(await run({ verb: 'load', clusters: [], name: 'broken' })).toMatchObject({ state: 'failed' })
    expect(await run({ verb: 'save', clusters: [], name: 'begin' })).toMatchObject({
      state: 'failed',
      outcome: expect.stringContaining('exists; choose another name'),
    })
  })
})

describe('what is done', () => {
  it('every browser sees an action, including a browser that connects later', async () => {
    const work = await done({ verb: 'latency', clusters: ['A', 'C'], ms: 30 })
    expect(work).toMatchObject({
      command: 'understudy fault latency A C 30ms',
      outcome: expect.stringContaining('latency 30 ms'),
      tookMs: expect.any(Number),
    })
    using late = new Listener(origin + EVENTS, { cookie })
    await until(() => late.jobs.get(work.id)?.state === 'done')
    await until(() => listener.survey?.faults?.length === 1)
    await done({ verb: 'heal', clusters: ['C', 'A'] })
    await until(() => listener.survey?.faults?.length === 0)
  })

  it('an action on servers has the effect of its command', async () => {
    for (const [verb, undo, words] of [
      ['seal', 'unseal', 'is sealed'],
      ['crash', 'start', 'has crashed'],
      ['pause', 'resume', 'is paused'],
      ['stop', 'start', 'is stopped'],
    ] as const) {
      await done({ verb, clusters: ['C'] })
      await until(() => listener.survey?.problems.includes(`C ${words}`) === true)
      await done({ verb: undo, clusters: ['C'] })
      await until(isWell)
    }
    expect(listener.events.map(({ command }) => command)).toEqual(
      expect.arrayContaining(['understudy seal C', 'understudy crash C', 'understudy start C']),
    )
  })

  it('an action on roles leads from one primary to another and back', async () => {
    const over = await done({ verb: 'failover', clusters: ['A', 'B'] })
    expect(over.outcome).toBe('B is the DR primary now')
    expect(over.lines.filter(({ kind }) => kind === 'call').length).toBeGreaterThanOrEqual(4)
    await done({ verb: 'rejoin', clusters: ['A', 'B'] })
    await until(() => modeOf('A') === 'secondary' && isWell())
    await done({ verb: 'switchover', clusters: ['B', 'A'] })
    await until(() => modeOf('A') === 'primary' && isWell())
    await done({ verb: 'demote', clusters: ['A'], kind: 'dr' })
    await done({ verb: 'promote', clusters: ['B'], kind: 'dr' })
    await until(() => modeOf('B') === 'primary')
  })

  it('an action on roles is rejected while another one runs', async () => {
    const begun = await take<PageJob>('POST', '', { verb: 'rejoin', clusters: ['A', 'B'] })
    const other = { verb: 'failover', clusters: ['B', 'A'], acceptsLoss: true }
    expect(await send('POST', '', other)).toMatchObject({
      status: 409,
      text: expect.stringContaining('wait for running actions'),
    })
    const { state, outcome } = await endOf(begun)
    expect(state, outcome).toBe('done')
  })

  it('after a failover with losses, every browser sees the losses and the credentials that came back', async () => {
    const env = JSON.parse((await home.run('env', 'B', '--json')).stdout) as Record<
      'VAULT_ADDR' | 'VAULT_TOKEN',
      string
    >
    const write = async (at: string, body: object) => {
      const headers = { 'X-Vault-Token': env.VAULT_TOKEN }
      const answer = await fetch(`${env.VAULT_ADDR}/v1/${at}`, { method: 'POST', headers, body: JSON.stringify(body) })
      expect(answer.status, at).toBeLessThan(300)
    }
    await write('auth/token/create', { id: 'came-back', ttl: '1h' })
    await done({ verb: 'rejoin', clusters: ['A', 'B'] })
    await until(() => isWell() && listener.survey?.links.every(({ lagEntries }) => lagEntries === 0) === true)
    await done({ verb: 'cut', clusters: ['A', 'B'] })
    await write('auth/token/revoke', { token: 'came-back' })
    await done({ verb: 'crash', clusters: ['B'] })
    await done({ verb: 'failover', clusters: ['B', 'A'], acceptsLoss: true })
    await done({ verb: 'heal', clusters: ['A', 'B'] })
    await done({ verb: 'start', clusters: ['B'] })
    await done({ verb: 'rejoin', clusters: ['B', 'A'] })
    await until(() => (listener.survey?.losses.length ?? 0) > 0)
    expect(listener.survey?.losses).toEqual([
      {
        ...{ cluster: 'B', entries: 1, pathsBeyond: 0, restored: '1 token', command: 'understudy losses B' },
        paths: expect.arrayContaining([expect.stringMatching(/^sys\/token\/id\//)]),
      },
    ])
  })

  it('an action on the whole lab restores the lab', async () => {
    await done({ verb: 'reset', clusters: [] })
    await until(() => modeOf('A') === 'primary' && isWell())
    await done({ verb: 'cut', clusters: ['A', 'B'] })
    await done({ verb: 'load', clusters: [], name: 'begin' })
    await until(() => listener.survey?.faults?.length === 0 && isWell())
  })

  it('the lab page shows a drill step by step, and a second action waits', async () => {
    const begun = await take<PageJob>('POST', '', { verb: 'drill', clusters: [], name: 'dr-failover' })
    for (const verb of ['reset', 'drill'] as const)
      expect(await send('POST', '', { verb, clusters: [], name: 'pr-promote' })).toMatchObject({
        status: 409,
        text: expect.stringContaining('run the drill dr-failover'),
      })
    await until(() => listener.jobs.get(begun.id)?.drill?.steps.some(({ state }) => state === 'running') === true)
    const { drill, ...work } = await endOf(begun)
    expect(work, work.outcome).toMatchObject({ state: 'done', outcome: expect.stringMatching(/^RTO .*\npassed after/) })
    expect(drill?.steps.map(({ state }) => state)).toEqual(drill?.steps.map(() => 'passed'))
    expect(drill?.expectations.map(({ passed }) => passed)).toEqual(drill?.expectations.map(() => true))
    const phases = listener.events.flatMap(({ step }) => (step ? [step.phase] : []))
    expect(phases).toEqual(drill?.steps.flatMap(() => ['begins', 'passed']))
    await done({ verb: 'reset', clusters: [] })
  })

  it('a browser can stop a drill and no other action', async () => {
    const begun = await take<PageJob>('POST', '', { verb: 'drill', clusters: [], name: 'dr-failover' })
    await until(() => listener.jobs.get(begun.id)?.drill?.steps.some(({ state }) => state === 'running') === true)
    expect(await send('DELETE', `/${begun.id}`)).toMatchObject({ status: 204, text: '' })
    expect(await endOf(begun)).toMatchObject({ state: 'stopped' })
    expect(await send('DELETE', `/${begun.id}`)).toMatchObject({ status: 400 })
    const reset = await take<PageJob>('POST', '', { verb: 'reset', clusters: [] })
    expect(await send('DELETE', `/${reset.id}`)).toMatchObject({
      status: 400,
      text: expect.stringContaining('intermediate'),
    })
    expect(await endOf(reset)).toMatchObject({ state: 'done' })
  })

  it('the event stream of the lab page contains no secret', () => {
    const secrets = home.record('default').clusters.flatMap(({ rootToken, unsealKeys }) => [rootToken, ...unsealKeys])
    for (const secret of secrets.filter((one) => one !== '')) expect(listener.text).not.toContain(secret)
    expect(listener.text).not.toMatch(/hv[sb]\.\w{20}/)
  })

  it('an action completes after the page is ended', async () => {
    await until(isWell)
    await send('POST', '', { verb: 'failover', clusters: ['A', 'B'] })
    program.signal('SIGINT')
    expect(await program.end()).toBe(0)
    const { stdout } = await home.run('status', '--json')
    const { clusters } = JSON.parse(stdout) as { clusters: { name: string; dr: { mode: string } }[] }
    expect(clusters.find(({ name }) => name === 'B')?.dr.mode).toBe('primary')
  })
})
