import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { uuid } from '../../../src/base/id.js'
import { applyEffect, type Ingredients, type Records } from '../../../src/replication/roles/apply-effect.js'
import {
  decideDemote,
  decideDisablePrimary,
  decideEnablePrimary,
} from '../../../src/replication/roles/decide-primary.js'
import {
  decideDisableSecondary,
  decideEnableSecondary,
  decideFinishBootstrap,
  decidePromote,
  decideUpdatePrimary,
  type SafetyFacts,
} from '../../../src/replication/roles/decide-secondary.js'
import { compareEpochs, currentEpoch } from '../../../src/replication/roles/epoch.js'
import {
  type Decision,
  type Event,
  type Facts,
  isSecondaryStage,
  type Stage,
  TRANSITIONS,
} from '../../../src/replication/roles/machine.js'
import { DISABLED, stageOf } from '../../../src/replication/roles/state.js'
import type { Kind } from '../../../src/replication/types.js'

const EVENTS: readonly Event[] = [
  'enable-primary',
  'demote',
  'disable-primary',
  'enable-secondary',
  'finish-bootstrap',
  'promote',
  'disable-secondary',
  'update-primary',
  'forget-primary',
  'update-addresses',
]

const STAGES: readonly Stage[] = ['disabled', 'primary', 'bootstrapping', 'secondary', 'detached']

/** In the order of EVENTS; `-` is rejected. */
const EXPECTED: Readonly<Record<Stage, string>> = {
  disabled: 'primary - - bootstrapping - - - - - -',
  primary: '- detached disabled - - - - - - -',
  bootstrapping: '- - - - secondary primary disabled bootstrapping - bootstrapping',
  secondary: '- - - - - primary disabled secondary detached secondary',
  detached: '- - - - - primary disabled secondary detached -',
}

test.each(STAGES)('every event leads from %s where the contract says', (stage) => {
  const row = EVENTS.map((event) => TRANSITIONS[stage][event]).map((to) => (to === 'rejected' ? '-' : to))
  expect(row.join(' ')).toBe(EXPECTED[stage])
  expect(Object.keys(TRANSITIONS[stage]).sort()).toEqual([...EVENTS].sort())
})

const SAFE: SafetyFacts = {
  isSyncComplete: true,
  streamState: 'stream-wals',
  isReindexing: false,
  appliedIndex: 5,
  announcedIndex: 5,
  isBehindEpoch: false,
  filter: undefined,
}

const decide: Readonly<Record<Event, (kind: Kind, facts: Facts, isSafe: boolean) => Decision>> = {
  'enable-primary': decideEnablePrimary,
  demote: decideDemote,
  'disable-primary': decideDisablePrimary,
  'enable-secondary': decideEnableSecondary,
  'finish-bootstrap': decideFinishBootstrap,
  promote: (kind, facts, isSafe) => decidePromote(kind, facts, { ...SAFE, isSyncComplete: isSafe }, false),
  'disable-secondary': decideDisableSecondary,
  'update-primary': (kind, facts) => decideUpdatePrimary(kind, facts, 'token'),
  'forget-primary': (kind, facts) => decideUpdatePrimary(kind, facts, 'blank'),
  'update-addresses': (kind, facts) => decideUpdatePrimary(kind, facts, 'addresses'),
}

const STEPS = 3000

test(`a walk of ${STEPS} random steps over both kinds never breaks a rule`, () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  console.info(`seed ${seed}`)
  const step = fc.record({
    event: fc.constantFrom(...EVENTS),
    kind: fc.constantFrom<Kind>('dr', 'performance'),
    isSafe: fc.boolean(),
    forkIndex: fc.nat(1000),
  })
  const [steps = []] = fc.sample(fc.array(step, { minLength: STEPS, maxLength: STEPS }), { seed, numRuns: 1 })
  expect(steps).toHaveLength(STEPS)
  const random = createSeededRandom(seed)
  let records: Records = { dr: DISABLED, performance: DISABLED }
  const reached = new Set<string>()
  for (const { event, kind, isSafe, forkIndex } of steps) {
    const facts = factsOf(records)
    const decision = decide[event](kind, facts, isSafe)
    const before = records
    if (!decision.ok) {
      expect(decision.reason).not.toBe('')
      continue
    }
    expect(TRANSITIONS[facts.stages[kind]][event]).toBe(decision.to)
    records = run(
      records,
      decision,
      ingredients(() => uuid(random), forkIndex),
    )
    expect(stageOf(records[kind])).toBe(decision.to)
    checkPointOfNoReturn(decision)
    checkRules(before, records, event, kind)
    reached.add(`${kind} ${event}`)
  }
  // Whatever can happen did happen, or the walk has shown nothing.
  expect(reached.size).toBe(EVENTS.length * 2)
})

const factsOf = (records: Records): Facts => ({
  stages: { dr: stageOf(records.dr), performance: stageOf(records.performance) },
})

const ingredients = (newId: () => string, forkIndex: number): Ingredients => ({
  newId,
  fork: { forkIndex },
  ca: { name: `rep-${newId()}`, certificate: 'c', privateKey: 'k' },
  addresses: ['https://other:8201'],
  joining: {
    setId: 'joined-set',
    epochs: [{ id: newId(), number: 1, parent: '', forkIndex: 0 }],
    secondaryId: 'me',
    credentials: {
      caCertificate: 'c',
      certificate: 'c',
      privateKey: 'k',
      serverName: 'rep-x',
      primaryAddresses: ['https://primary:8201'],
    },
  },
})

const run = (records: Records, decision: Extract<Decision, { ok: true }>, given: Ingredients): Records =>
  decision.effects.reduce((draft, effect) => applyEffect(draft, effect, given), records)

const checkPointOfNoReturn = ({ effects }: Extract<Decision, { ok: true }>) => {
  const names: string[] = effects.map((effect) => effect.do)
  expect(names.filter((name) => name === 'commit' || name === 'wipe-and-restart')).toHaveLength(1)
  const point = names.findIndex((name) => name === 'commit' || name === 'wipe-and-restart')
  expect(names.slice(point + 1).every((name) => name === 'restart')).toBe(true)
}

const checkRules = (before: Records, after: Records, event: Event, kind: Kind) => {
  const other: Kind = kind === 'dr' ? 'performance' : 'dr'
  const [was, is] = [before[kind], after[kind]]
  // The set id is stable but for enabling and joining.
  if (was.mode !== 'disabled' && is.mode !== 'disabled' && event !== 'update-primary') expect(is.setId).toBe(was.setId)
  if (event === 'promote' && was.mode !== 'disabled' && is.mode !== 'disabled') {
    expect(compareEpochs(was.epochs, is.epochs)).toBe('newer')
    expect(currentEpoch(is.epochs)?.parent).toBe(currentEpoch(was.epochs)?.id)
  }
  if (is.mode === 'primary' && was.mode !== 'primary') expect(is.registrations).toEqual([])
  // Performance operations never touch the DR record, and change nothing behind a DR secondary.
  if (kind === 'performance') {
    expect(after.dr).toBe(before.dr)
    expect(isSecondaryStage(stageOf(before.dr))).toBe(false)
  }
  // The other record changes with a promotion or an end of the DR role only.
  if (after[other] !== before[other]) expect(['promote', 'disable-secondary']).toContain(event)
}
