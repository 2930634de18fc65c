import { expect, test } from 'vitest'
import {
  decideDemote,
  decideDisablePrimary,
  decideEnablePrimary,
} from '../../../src/replication/roles/decide-primary.js'
import {
  decideDisableSecondary,
  decideEnableSecondary,
  decidePromote,
  decideUpdatePrimary,
} from '../../../src/replication/roles/decide-secondary.js'
import {
  type Decision,
  type Facts,
  isSecondaryStage,
  type SafetyFacts,
  type Stage,
  TRANSITIONS,
} from '../../../src/replication/roles/machine.js'
import type { Kind } from '../../../src/replication/types.js'
import { after, answersOf, type RoleAction, type RoleCall, type Roles } from '../../simulation/role-model.js'

/** The model by which the simulation judges answers is made from the contract alone: here the machine is held against it. */

const STAGES = Object.keys(TRANSITIONS) as Stage[]

const BEHIND: SafetyFacts = {
  isSyncComplete: false,
  streamState: 'stream-wals',
  isReindexing: false,
  appliedIndex: 4,
  announcedIndex: 5,
  isBehindEpoch: false,
  filter: undefined,
}

interface Asked {
  readonly action: RoleAction
  readonly body: RoleCall['body']
  readonly decide: (kind: Kind, facts: Facts) => Decision
}

const ASKED: readonly Asked[] = [
  { action: 'primary/enable', body: {}, decide: decideEnablePrimary },
  { action: 'primary/demote', body: {}, decide: decideDemote },
  { action: 'primary/disable', body: {}, decide: decideDisablePrimary },
  { action: 'secondary/enable', body: { token: 'known' }, decide: decideEnableSecondary },
  { action: 'secondary/disable', body: {}, decide: decideDisableSecondary },
  ...[true, false].map(
    (force): Asked => ({
      action: 'secondary/promote',
      body: { force },
      decide: (kind, facts) => decidePromote(kind, facts, BEHIND, force),
    }),
  ),
  ...(['known', ''] as const).map(
    (token): Asked => ({
      action: 'secondary/update-primary',
      body: { token },
      decide: (kind, facts) => decideUpdatePrimary(kind, facts, token === '' ? 'blank' : 'token'),
    }),
  ),
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
    ASKED.flatMap(({ action, body, decide }) =>
      (['dr', 'performance'] as const).map((kind) => ({
        facts: { stages: { dr, performance } },
        kind,
        action,
        body,
        decide,
      })),
    ),
  ),
)

test('whatever a cluster may be asked for is answered as the model of the simulation has it, and leads where that says', () => {
  for (const { facts, kind, action, body, decide } of cases) {
    const call: RoleCall = { kind, action, body, credential: 'good' }
    const roles = rolesOf(facts)
    const decision = decide(kind, facts)
    const what = `${kind} ${action} ${JSON.stringify(body)} while ${JSON.stringify(facts.stages)}`
    expect(answersOf(roles, call), what).toContain(answerOf(decision))
    if (decision.ok)
      expect(
        after(roles, call).map((next) => next[kind]),
        what,
      ).toContain(shown(decision.to))
  }
})
