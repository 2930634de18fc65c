import { expect, test } from 'vitest'
import {
  type Decision,
  type Event,
  type Facts,
  isSecondaryStage,
  type Stage,
  TRANSITIONS,
} from '../../../src/replication/model/machine.js'
import { after, answersOf, type RoleAction, type RoleCall, type Roles } from '../../simulation/role-model.js'
import { decisionsAt, SAFE } from '../../support/role-decisions.js'

/**
 * The simulation judges responses with a model of the contract. This test compares that model with the state machine.
 */

const STAGES = Object.keys(TRANSITIONS) as Stage[]

const BEHIND = { ...SAFE, isSyncComplete: false, appliedIndex: 4 }

interface Asked {
  readonly action: RoleAction
  readonly body?: RoleCall['body']
  readonly event: Event
  readonly force?: boolean
}

const ASKED: readonly Asked[] = [
  { action: 'primary/enable', event: 'enable-primary' },
  { action: 'primary/demote', event: 'demote' },
  { action: 'primary/disable', event: 'disable-primary' },
  { action: 'secondary/enable', body: { token: 'known' }, event: 'enable-secondary' },
  { action: 'secondary/disable', event: 'disable-secondary' },
  { action: 'secondary/promote', body: { force: true }, event: 'promote', force: true },
  { action: 'secondary/promote', body: { force: false }, event: 'promote' },
  { action: 'secondary/update-primary', body: { token: 'known' }, event: 'update-primary' },
  { action: 'secondary/update-primary', body: { token: '' }, event: 'forget-primary' },
]

const shown = (stage: Stage) => (stage === 'detached' ? 'secondary' : stage)

const rolesOf = ({ stages: { dr, performance } }: Facts): Roles => ({
  dr: shown(dr),
  performance: isSecondaryStage(dr) ? 'hidden' : shown(performance),
})

const answerOf = (decision: Decision) => {
  if (decision.ok) return 'ok'
  return decision.code === 'unavailable' ? 'unsafe' : 400
}

const cases = STAGES.flatMap((dr) =>
  STAGES.flatMap((performance) =>
    ASKED.flatMap((asked) =>
      (['dr', 'performance'] as const).map((kind) => ({ ...asked, kind, facts: { stages: { dr, performance } } })),
    ),
  ),
)

test('responses and resulting roles of all role changes match the model of the simulation', () => {
  for (const { facts, kind, action, body = {}, event, force } of cases) {
    const call: RoleCall = { kind, action, body, credential: 'good' }
    const roles = rolesOf(facts)
    const decision = decisionsAt(BEHIND, force)[event](kind, facts)
    const what = `${kind} ${action} ${JSON.stringify(body)} while ${JSON.stringify(facts.stages)}`
    expect(answersOf(roles, call), what).toContain(answerOf(decision))
    const next = after(roles, call).map((one) => one[kind])
    if (decision.ok) expect(next, what).toContain(shown(decision.to))
  }
})
