import { type Expectation, isOfLoad } from '../../src/lab/drills/expectations/expectations.js'
import type { Drill } from '../../src/lab/drills/parse.js'
import type { Step } from '../../src/lab/drills/steps/steps.js'

/** A change that makes a drill fail, and the expected failure. */
export interface DrillBreak {
  readonly drill: string
  /** The change as text: the condition under which the drill fails. */
  readonly what: string
  readonly change: (drill: Drill) => Drill
  /** Matches the expectation or step that must fail. */
  readonly fails: RegExp
}

type Verbs = { readonly [V in Step['verb']]?: Extract<Step, { verb: V }>['with'] }

/** Builds steps from the syntax of a drill file: `{ demote: { cluster: A, kind: dr } }`. */
const steps = (...given: readonly Verbs[]): Step[] =>
  given.flatMap((one) =>
    Object.entries(one).map(
      ([verb, value]) => ({ verb, name: `planted: ${verb}`, error: undefined, with: value }) as Step,
    ),
  )

/**
 * Returns a change that removes steps. The change throws if the drill has no step with this name, so this table stays
 * up to date.
 */
const without =
  (...names: readonly string[]) =>
  (drill: Drill): Drill => {
    for (const name of names) indexOf(drill, name)
    return { ...drill, steps: drill.steps.filter((step) => step.name === undefined || !names.includes(step.name)) }
  }

const replace =
  (name: string, ...planted: readonly Verbs[]) =>
  (drill: Drill): Drill => {
    const at = indexOf(drill, name)
    return { ...drill, steps: [...drill.steps.slice(0, at), ...steps(...planted), ...drill.steps.slice(at + 1)] }
  }

const before =
  (name: string, ...planted: readonly Verbs[]) =>
  (drill: Drill): Drill => {
    const at = indexOf(drill, name)
    return { ...drill, steps: [...drill.steps.slice(0, at), ...steps(...planted), ...drill.steps.slice(at)] }
  }

const atTheEnd =
  (...planted: readonly Verbs[]) =>
  (drill: Drill): Drill => ({ ...drill, steps: [...drill.steps, ...steps(...planted)] })

/** Returns a change that adds fields to the body of a call. */
const addFields =
  (name: string, more: Readonly<Record<string, string>>) =>
  (drill: Drill): Drill => {
    const at = indexOf(drill, name)
    const step = drill.steps[at]
    if (step?.verb !== 'call') throw new Error(`the step "${name}" of the drill ${drill.name} is no call`)
    const body = { ...(step.with.body as object | undefined), ...more }
    return { ...drill, steps: drill.steps.with(at, { ...step, with: { ...step.with, body } }) }
  }

const both =
  (one: DrillBreak['change'], other: DrillBreak['change']) =>
  (drill: Drill): Drill =>
    other(one(drill))

const indexOf = ({ name: drill, steps: all }: Drill, name: string): number => {
  const at = all.findIndex((step) => step.name === name)
  if (at === -1) throw new Error(`the drill ${drill} has no step "${name}"`)
  return at
}

/** Shortens the waits of checkpoints and expectations to 1 s, because the changed conditions never become true. */
export const shortenWaits = (drill: Drill): Drill => ({
  ...drill,
  steps: drill.steps.map((step) =>
    step.verb === 'checkpoint'
      ? { ...step, with: step.with.map((entry) => mapValues(entry, (value) => ({ ...value, within: '1s' }))) }
      : step,
  ),
  expect: drill.expect.map(shortenWait),
})

const mapValues = (entry: object, change: (value: object) => object): object =>
  Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, change(value)]))

const shortenWait = (one: Expectation): Expectation =>
  isOfLoad(one.about) ? one : ({ ...one, with: { ...one.with, within: '1s' } } as Expectation)

// biome-ignore lint/suspicious/noTemplateCurlyInString: drills have variables of their own
const AUTHORITY = '${A.ca_file}'
const PERFORMANCE = { kind: 'performance' } as const
const DR = { kind: 'dr' } as const

export const DRILL_BREAKS: readonly DrillBreak[] = [
  {
    drill: 'wrong-ca',
    what: 'C trusts the CA from the start',
    change: addFields('C does not know the CA', { ca_file: AUTHORITY }),
    fails: /^C does not know the CA/,
  },
  {
    drill: 'node-failover',
    what: 'all nodes crash',
    change: replace('the active node crashes', { crash: 'A' }),
    fails: /^clients are served again/,
  },
  {
    drill: 'step-down',
    what: 'no node steps down',
    change: without('the active node steps down'),
    fails: /^another node is active/,
  },
  {
    drill: 'rolling-restart',
    what: 'all nodes stop at once',
    change: replace('the active node restarts last', { stop: 'A' }),
    fails: /^clients are served again/,
  },
  {
    drill: 'primary-node-failover-seen-by-secondaries',
    what: 'B cannot reach the new active node',
    change: before(
      'B follows the next active node',
      { fault: { name: 'partition', between: ['A', 'B'] } },
      { wait: '3s' },
    ),
    fails: /^B follows the next active node/,
  },
  {
    drill: 'dr-failover',
    what: 'B is partitioned from A before the crash',
    change: before('the primary crashes', { fault: { name: 'partition', between: ['A', 'B'] } }, { wait: '3s' }),
    fails: /^rpo/,
  },
  {
    drill: 'dr-failover-force',
    what: 'the former primary does not rejoin',
    change: without('A follows B, and no data is removed'),
    fails: /^entries that A lists as lost/,
  },
  {
    drill: 'dr-failback',
    what: 'B does not rejoin A',
    change: without('B follows A as before'),
    fails: /^dr secondaries that A knows/,
  },
  {
    drill: 'dr-batch-token',
    what: 'no cluster is promoted',
    change: without('the batch token promotes B', 'clients are served again'),
    fails: /^dr primaries are/,
  },
  {
    drill: 'planned-switchover',
    what: 'the former primary does not become a secondary',
    change: without('A becomes the DR secondary'),
    fails: /^dr secondaries that B knows/,
  },
  {
    drill: 'pr-promote',
    what: 'the former primary is revoked',
    change: atTheEnd({ revoke: { primary: 'C', secondary: 'A', ...PERFORMANCE } }),
    fails: /^performance secondaries that C knows/,
  },
  {
    drill: 'pr-follow-after-dr',
    what: 'D is revoked',
    change: atTheEnd(
      { revoke: { primary: 'B', secondary: 'D', id: 'perf-c', ...PERFORMANCE } },
      { wait: { for: 'status', cluster: 'D', ...PERFORMANCE, is: { connection_state: { not: 'ready' } } } },
    ),
    fails: /^performance status of D/,
  },
  {
    drill: 'update-primary-token',
    what: 'A is wiped and joined instead of updated',
    change: replace(
      'A follows B',
      { disable: { cluster: 'A', ...DR } },
      { wait: { for: 'active', cluster: 'A' } },
      { join: { primary: 'B', secondary: 'A', ...DR } },
    ),
    fails: /info on A/,
  },
  {
    drill: 'update-primary-addrs',
    what: 'B is unreachable at the end',
    change: atTheEnd(
      { fault: { name: 'partition', between: ['B', 'C'] } },
      { wait: { for: 'status', cluster: 'C', ...PERFORMANCE, is: { connection_state: { not: 'ready' } } } },
    ),
    fails: /^performance status of C/,
  },
  {
    drill: 'split-brain-two-primaries',
    what: 'A accepts no writes of its own',
    change: without('A continues to serve its clients'),
    fails: /^entries that A lists as lost/,
  },
  {
    drill: 'paths-filter',
    what: 'the last filter is missing',
    change: without('the filter allows only US data'),
    fails: /paths-filter\/perf-c on A/,
  },
  {
    drill: 'revoke-secondary',
    what: 'a filter is set at the end',
    change: atTheEnd({ filter: { primary: 'A', secondary: 'C', mode: 'deny', paths: ['secret-of-a/'] } }),
    fails: /paths-filter\/perf-c on A/,
  },
  {
    drill: 'lag-and-catch-up',
    what: 'C applies nothing at the end',
    change: atTheEnd(
      { hold: { cluster: 'C', state: 'apply', ...PERFORMANCE } },
      { write: { cluster: 'A', path: 'shared/more', fields: { by: 'A' } } },
    ),
    fails: /^lag|^C lacks|entries of A/,
  },
  {
    drill: 'expired-activation-token',
    what: 'the token does not expire',
    change: without('the token expires'),
    fails: /the expired token is rejected/,
  },
  {
    drill: 'merkle-corruption',
    what: 'the tree is not rebuilt',
    change: without('the tree is rebuilt from the data', 'the tree is correct again', 'C continues to follow'),
    fails: /merkle-check on C/,
  },
  {
    drill: 'rejoin-after-disable',
    what: 'A stays a primary of the old set',
    change: without('A disables its role', 'both clusters are without replication'),
    fails: /^dr status of B/,
  },
  {
    drill: 'values-compared',
    what: 'C does not receive the last value',
    change: atTheEnd(
      { hold: { cluster: 'C', state: 'apply', ...PERFORMANCE } },
      { write: { cluster: 'B', path: 'one/app', fields: { user: 'app', password: 'third' } } },
    ),
    fails: /^one\/app has the same value on B, C/,
  },
  {
    drill: 'known-secondaries',
    what: 'a token is issued for a cluster that never joins',
    change: atTheEnd({
      call: {
        cluster: 'B',
        method: 'POST',
        path: 'sys/replication/dr/primary/secondary-token',
        body: { id: 'ghost' },
      },
    }),
    fails: /^dr secondaries that B knows/,
  },
  {
    drill: 'local-data',
    what: 'the mount of C is not local',
    change: both(without('each cluster has its own data'), (drill) => ({
      ...drill,
      setup: drill.setup.map((step) =>
        step.verb === 'call' && step.with.path === 'sys/mounts/of-c'
          ? { ...step, with: { ...step.with, body: { type: 'kv' } } }
          : step,
      ),
    })),
    fails: /^of-c\/it does not exist on B|of-c\/it/,
  },
  {
    drill: 'metrics-after-role-change',
    what: 'B is demoted at the end',
    change: atTheEnd({ demote: { cluster: 'B', ...DR } }),
    fails: /^metric vault_core_replication_dr_primary of B/,
  },
  {
    drill: 'data-after-failback',
    what: 'no value is deleted on B',
    change: without('a delete on B'),
    fails: /shared\/deleted/,
  },
]

/** Breaks of the drills that need processes. */
export const PROCESS_DRILL_BREAKS: readonly DrillBreak[] = [
  {
    drill: 'quorum-loss',
    what: 'two of three nodes keep running',
    change: without('a second node crashes'),
    fails: /^writes are rejected with a reason/,
  },
  {
    drill: 'quorum-loss',
    what: 'no node returns',
    change: without('one node returns', 'the other node returns'),
    fails: /^clients are served again/,
  },
  {
    drill: 'join-and-remove-peer',
    what: 'no node is removed',
    change: without('a standby is removed'),
    fails: /^the removed node reports its removal/,
  },
  {
    drill: 'join-and-remove-peer',
    what: 'the new node keeps the data of the old one',
    change: without('a new node replaces the removed node'),
    fails: /^the new node joins and catches up/,
  },
]
