import type { PageAction, PageChoices, AvailableAction, PagePlan } from '../../lab/web/page-facts.js'
import { apiAt, type Call } from '../parts/api.js'
import { type Action, type Field, field, type Values } from './action.js'

/** The subject of actions. `key`: its key in the survey. */
export interface Subject {
  readonly key: string
  readonly title: string
}

/** Opens the actions of a subject; undefined if there are none. */
export type OnAsk = ((subject: Subject) => void) | undefined

const ask = apiAt('', '"understudy web" does not respond')
const own = (method: Call['method'], path: string, body?: PageAction): Call => ({
  method,
  path,
  isOwn: true,
  ...(body && { body: JSON.stringify(body) }),
})

/** Stops an action of the lab. Rejects with an Error whose message can be shown to the user. */
export const stop = (id: number): Promise<unknown> => ask(own('DELETE', `actions/${id}`))

const ASKED: Readonly<Record<NonNullable<AvailableAction['asks']>, Field>> = {
  ms: field('milliseconds', 'ms', 'Milliseconds'),
  'new-snapshot': field('text', 'name', 'Name'),
  snapshot: field('pick', 'name', 'Snapshot'),
  drill: field('pick', 'name', 'Drill'),
}
const FORCE = field('force', 'isForced', 'Force')
const ACCEPT_LOSS = field('force', 'acceptsLoss', 'Accept any loss')

/** Returns an action of the lab, which its server plans and runs. `topology`: the initial topology of the lab. */
export const labAction = (
  { label, action, asks, canForce, canAcceptLoss }: AvailableAction,
  topology: string,
): Action => {
  const asked = asks && ASKED[asks]
  const bodyOf = ({ ms, name, isForced, acceptsLoss }: Values): PageAction => ({
    ...action,
    ...(ms === undefined ? {} : { ms: Number(ms) }),
    ...(name === undefined ? {} : { name }),
    ...(canForce ? { isForced: isForced === 'true' } : {}),
    ...(canAcceptLoss ? { acceptsLoss: acceptsLoss === 'true' } : {}),
  })
  return {
    label,
    isAtOnce: !asked,
    fields: [...(asked ? [asked] : []), ...(canAcceptLoss ? [ACCEPT_LOSS] : []), ...(canForce ? [FORCE] : [])],
    ...(asked?.kind === 'pick' && {
      load: async () => [withChoices(asked, await ask(own('GET', 'actions')), topology)],
    }),
    plan: (values) =>
      asked && !values[asked.name]
        ? undefined
        : ask(own('POST', 'actions/plan', bodyOf(values))).then((plan) => plan as unknown as PagePlan),
    // The page shows its progress beside the diagram.
    run: (values) => ask(own('POST', 'actions', bodyOf(values))).then(() => ({})),
  }
}

/** Groups the drills: drills for this topology come first. */
const withChoices = (asked: Field, answer: unknown, topology: string): Field => {
  const { drills, snapshots } = answer as PageChoices
  if (asked.label === 'Snapshot') return { ...asked, groups: [{ label: 'Saved snapshots', names: snapshots }] }
  const namesOf = (isForThis: boolean) =>
    drills.filter((drill) => (drill.topology === topology) === isForThis).map(({ name }) => name)
  return {
    ...asked,
    groups: [
      { label: `For this topology (${topology})`, names: namesOf(true) },
      { label: 'For other topologies (expectations may not apply)', names: namesOf(false) },
    ],
    describe: (value) => drills.find(({ name }) => name === value)?.purpose,
  }
}
