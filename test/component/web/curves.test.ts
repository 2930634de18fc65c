import { describe, expect, it } from 'vitest'
import type { PageCluster, PageEvent, PageRequests, PageSurvey } from '../../../src/lab/web/page-facts.js'
import {
  describe as inWords,
  phasesOf,
  plainCurves,
  requestCurves,
  type Sample,
  withSurvey,
} from '../../../src/web/curves/curves-of.js'

const cluster = (name: string, requests: PageRequests | null, lastWal: number | undefined): PageCluster => ({
  ...{ name, apiAddress: '', process: 'running', isAnswering: true, isInitialized: true, isSealed: false },
  ...{ problems: [], nodes: null, requests, performance: { mode: 'disabled', state: '', lastWal: 0 } },
  dr: { mode: lastWal === undefined ? 'disabled' : 'primary', state: '', lastWal: lastWal ?? 0 },
})
const survey = (atMs: number, clusters: readonly PageCluster[] = [], lagEntries: number | null = 0): PageSurvey => ({
  ...{ lab: 'default', topology: 'dr', atMs, planned: [], clusters, faults: [], splits: [] },
  ...{ problems: [], hasEvents: true, actions: {}, losses: [] },
  links: [
    {
      ...{ kind: 'dr', primary: 'A', secondary: 'B', state: 'stream-wals', connectionState: 'ready' },
      ...{ lagEntries, lagSeconds: 0 },
    },
  ],
})
const counted = (handled: number, refused: number, server = 'A'): PageRequests => ({ server, handled, refused })
const samplesOf = (...surveys: PageSurvey[]): readonly Sample[] => surveys.reduce<readonly Sample[]>(withSurvey, [])
const lagCurves = (samples: readonly Sample[]) => plainCurves(samples, 'lag')
const MINUTES = 60_000

describe('chart samples', () => {
  it('chart samples cover 15 minutes, however long the page is open', () => {
    let samples: readonly Sample[] = []
    let most = 0
    const night = 12 * 60 * MINUTES
    for (let atMs = 0; atMs <= night; atMs += 1000) {
      samples = withSurvey(samples, survey(atMs))
      most = Math.max(most, samples.length)
    }
    expect(most).toBe(900)
    expect(samples[0]?.atMs).toBeGreaterThan(night - 15 * MINUTES)
  })

  it('chart samples are limited in number, and restart if the clock moves back', () => {
    let samples: readonly Sample[] = []
    for (let atMs = 0; atMs <= 30 * MINUTES; atMs += 40) samples = withSurvey(samples, survey(atMs))
    expect(samples.length).toBeLessThanOrEqual(15 * 75)
    expect(withSurvey(samples, survey(5)).map(({ atMs }) => atMs)).toEqual([5])
  })
})

describe('charts', () => {
  it('a lag chart shows the lag of each link, and a gap if it is unknown', () => {
    const { times, lines } = lagCurves(samplesOf(survey(1000, [], 3), survey(2000, [], null), survey(3000, [], 0)))
    expect(times).toEqual([1, 2, 3])
    expect(lines).toEqual([{ name: 'A → B, DR', values: [3, null, 0] }])
  })

  it('a log chart shows each cluster that reports its log', () => {
    const { lines } = plainCurves(
      samplesOf(survey(1000, [cluster('A', null, 7), cluster('B', null, undefined)])),
      'wal',
    )
    expect(lines).toEqual([{ name: 'A', values: [7] }])
  })

  it('a request chart shows requests per second, and errors of clusters with errors', () => {
    const at = (atMs: number, a: PageRequests | null, b: PageRequests | null) =>
      survey(atMs, [cluster('A', a, 1), cluster('B', b, 1)])
    const { lines } = requestCurves(
      samplesOf(
        at(1000, counted(10, 1), counted(5, 0)),
        at(3000, counted(30, 1), counted(7, 0)),
        at(4000, null, counted(8, 0)),
        at(5000, counted(1, 0), counted(9, 0)),
        at(6000, counted(9, 4), counted(10, 0)),
      ),
    )
    expect(lines).toEqual([
      { name: 'A', values: [null, 10, null, null, 8] },
      { name: 'B', values: [null, 1, 1, 1, 1] },
      { name: 'A, rejected', values: [null, 0, null, null, 4], isRefusals: true },
    ])
  })

  it('a request chart does not restart if a server restarts its counters', () => {
    const at = (atMs: number, handled: number) => survey(atMs, [cluster('A', counted(handled, 0), 1)])
    expect(requestCurves(samplesOf(at(1000, 90), at(2000, 3), at(3000, 5))).lines[0]?.values).toEqual([null, null, 2])
  })

  it('a request chart does not continue with the counters of another node', () => {
    const at = (atMs: number, server: string, handled: number) =>
      survey(atMs, [cluster('A', counted(handled, 0, server), 1)])
    const samples = samplesOf(at(1000, 'A1', 5), at(2000, 'A1', 8), at(3000, 'A2', 900), at(4000, 'A2', 901))
    expect(requestCurves(samples).lines[0]?.values).toEqual([null, 3, null, 1])
  })

  it('a chart has a description in words', () => {
    expect(inWords(lagCurves(samplesOf(survey(1000, [], 12), survey(2000, [], 1))), 'entries')).toBe(
      'A → B, DR: 1, at most 12 entries',
    )
    expect(inWords(lagCurves(samplesOf(survey(1000, [], null))), 'entries')).toContain('unknown')
  })
})

describe('drill phases', () => {
  const event = (seconds: number, phase: string | null): PageEvent => ({
    ...{ id: seconds, cluster: null, kind: 'drill', text: '', command: null },
    time: new Date(seconds * 1000).toISOString(),
    step: phase === null ? null : { name: 'a step', phase },
  })

  it('a drill phase lasts from the start of a step to its end', () => {
    const events = [event(1, 'begins'), event(2, null), event(3, 'passed'), event(4, 'begins'), event(6, 'failed')]
    expect(phasesOf(events, 9000)).toEqual([
      { from: 1, to: 3, hasFailed: false },
      { from: 4, to: 6, hasFailed: true },
    ])
  })

  it('a drill phase without an end lasts until now, but not forever', () => {
    expect(phasesOf([event(1, 'begins')], 5000)).toEqual([{ from: 1, to: 5, hasFailed: false }])
    expect(phasesOf([event(1, 'begins')], 500_000)).toEqual([])
    expect(phasesOf([event(1, 'passed')], 5000), 'its beginning is forgotten').toEqual([])
  })
})
