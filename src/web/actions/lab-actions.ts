import type { PageAction, PageChoices, AvailableAction, PagePlan } from '../../lab/web/page-facts.js'
import { apiAt, type Call, textOf } from '../parts/api.js'
import { type Action, type Field, field, type Values } from './action.js'

/** The subject of actions. `key`: its key in the survey. `only`: its only action, without a menu. */
export interface Subject {
  readonly key: string
  readonly title: string
  readonly only?: AvailableAction
}

/** Opens the actions of a subject; undefined if there are none. */
export type OnAsk = ((subject: Subject) => void) | undefined

const ask = apiAt('', '"understudy web" does not respond')
const own = (method: Call['method'], path: string, body?: object): Call => ({
  method,
  path,
  isOwn: true,
  ...(body && { body: JSON.stringify(body) }),
})

/** Stops an action of the lab. Rejects with an Error whose message can be shown to the user. */
export const stop = (id: number): Promise<unknown> => ask(own('DELETE', `actions/${id}`))

/** Returns a root token of the lab that is valid on a cluster. Rejects like `stop`. */
export const askRootToken = async (cluster: string): Promise<string> =>
  textOf(await ask(own('POST', 'actions/root-token', { cluster })), 'token')

const ASKED: Readonly<Record<NonNullable<AvailableAction['asks']>, Field>> = {
  ms: field('milliseconds', 'ms', 'Milliseconds'),
  'new-snapshot': field('text', 'name', 'Name'),
  snapshot: field('pick', 'name', 'Snapshot', { none: 'None: save a snapshot first' }),
  drill: field('pick', 'name', 'Drill', { none: 'None fits this lab: start one of another topology' }),
}

/** Returns an action of the lab, which its server plans and runs. `topology`: the initial topology of the lab. */
export const labAction = ({ label, title, verb, action, asks, options }: AvailableAction, topology: string): Action => {
  const asked = asks && ASKED[asks]
  const bodyOf = ({ ms, name, ...others }: Values): PageAction => ({
    ...action,
    ...(ms === undefined ? {} : { ms: Number(ms) }),
    ...(name === undefined ? {} : { name }),
    ...Object.fromEntries(options.map(({ field: option }) => [option, others[option] === 'true'])),
  })
  return {
    ...{ label, title, verb },
    isAtOnce: !asked,
    fields: [
      ...(asked ? [asked] : []),
      ...options.map((one) => field('force', one.field, one.label, { hint: one.consequence })),
    ],
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
  if (asked.label === 'Snapshot')
    return { ...asked, groups: [{ label: 'Saved snapshots', options: snapshots.map((name) => ({ name })) }] }
  const optionsFor = (isForThis: boolean) =>
    drills
      .filter((drill) => (drill.topology === topology) === isForThis)
      .map(({ name, purpose, duration, topology: own }) => ({
        name,
        about: purpose,
        facts: [`topology ${own}`, duration && `about ${duration.replaceAll(/(?<=\d)(?=[a-z])/g, ' ')}`]
          .filter(Boolean)
          .join(', '),
      }))
  return {
    ...asked,
    groups: [
      { label: `For this topology (${topology})`, options: optionsFor(true) },
      { label: 'For other topologies (expectations may not apply)', options: optionsFor(false) },
    ],
  }
}
