import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { uuid } from '../../../src/base/id.js'
import { applyEffect, type Ingredients, type Records } from '../../../src/replication/roles/change-record.js'
import { compareEpochs, currentEpoch } from '../../../src/replication/model/epoch.js'
import {
  type Decision,
  type Event,
  EVENTS,
  type Facts,
  isSecondaryStage,
  findTransition,
} from '../../../src/replication/model/machine.js'
import { DISABLED, stageOf } from '../../../src/replication/model/state.js'
import type { Kind } from '../../../src/replication/model/types.js'
import { decisionsAt, SAFE } from '../../support/role-decisions.js'

const STEPS = 3000

test(`a walk of ${STEPS} random steps over both kinds never violates an invariant`, () => {
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
    const decision = decisionsAt({ ...SAFE, isSyncComplete: isSafe })[event](kind, facts)
    const before = records
    const record = records[kind]
    // A cluster without a primary cannot finish a first copy.
    if (event === 'finish-bootstrap' && 'hasFollowed' in record && !record.credentials) continue
    if (!decision.ok) {
      expect(decision.reason).not.toBe('')
      continue
    }
    expect(findTransition(facts.stages[kind], event)).toBe(decision.to)
    records = run(
      records,
      decision,
      ingredients(() => uuid(random), forkIndex),
    )
    expect(stageOf(records[kind])).toBe(decision.to)
    checkRules(before, records, event, kind)
    reached.add(`${kind} ${event}`)
  }
  // All possible events have occurred; otherwise the walk proves nothing.
  expect(EVENTS.length).toBeGreaterThan(5)
  expect(reached.size).toBe(EVENTS.length * 2)
})

const factsOf = (records: Records): Facts => ({
  stages: { dr: stageOf(records.dr), performance: stageOf(records.performance) },
})

const ingredients = (newId: () => string, forkIndex: number): Ingredients => ({
  newId,
  epochId: newId(),
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

const run = (records: Records, { change }: Extract<Decision, { ok: true }>, given: Ingredients): Records =>
  change.reduce((drafts, effect) => applyEffect(drafts, effect, given), { records, keepsOperationToken: true }).records

const checkRules = (before: Records, after: Records, event: Event, kind: Kind) => {
  const other: Kind = kind === 'dr' ? 'performance' : 'dr'
  const [was, is] = [before[kind], after[kind]]
  // The set ID changes only when a cluster enables replication or joins.
  if (was.mode !== 'disabled' && is.mode !== 'disabled' && event !== 'update-primary') expect(is.setId).toBe(was.setId)
  if (event === 'promote' && was.mode !== 'disabled' && is.mode !== 'disabled') {
    expect(compareEpochs(was.epochs, is.epochs)).toBe('newer')
    expect(currentEpoch(is.epochs)?.parent).toBe(currentEpoch(was.epochs)?.id)
  }
  if (is.mode === 'primary' && was.mode !== 'primary') expect(is.registrations).toEqual([])
  // Performance operations never change the DR record, and change nothing behind a DR secondary.
  if (kind === 'performance') {
    expect(after.dr).toBe(before.dr)
    expect(isSecondaryStage(stageOf(before.dr))).toBe(false)
  }
  // The other record changes only with a promotion, or at the end of the DR role.
  if (after[other] !== before[other]) expect(['promote', 'disable-secondary']).toContain(event)
}
