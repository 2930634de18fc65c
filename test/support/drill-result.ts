import type {
  DrillResult,
  Picture,
  PictureCluster,
  PictureRole,
  Sample,
  StepResult,
} from '../../src/lab/drills/context/result.js'

/** A drill as it might have gone: a failover of three clusters that lost two writes. For tests of whatever reads results. */

const OFF: PictureRole = { mode: 'disabled', state: '', connectionState: '', merkleRoot: '', lastWal: null }
const ROOT = 'd4'.repeat(20)
const primary: PictureRole = { mode: 'primary', state: 'running', connectionState: '', merkleRoot: ROOT, lastWal: 812 }
const secondary: PictureRole = { ...primary, mode: 'secondary', state: 'stream-wals', connectionState: 'ready' }
const cluster = (
  name: string,
  dr: PictureRole,
  performance: PictureRole,
  health: number | null = 200,
): PictureCluster => ({
  name,
  health,
  dr,
  performance,
})

const BEFORE: Picture = {
  atMs: 0,
  clusters: [cluster('A', primary, primary), cluster('B', secondary, OFF, 472), cluster('C', OFF, secondary, 473)],
  links: [
    { kind: 'dr', primary: 'A', secondary: 'B', isConnected: true },
    { kind: 'performance', primary: 'A', secondary: 'C', isConnected: true },
  ],
}

const UNKNOWN: PictureRole = { ...OFF, mode: 'unknown' }
const AFTER: Picture = {
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

export const drillResult = (change: Partial<DrillResult> = {}): DrillResult => ({
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
