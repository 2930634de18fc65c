import type { PageAction, PageChoices, AvailableAction, PagePlan } from '../../lab/web/page-facts.js'
import { apiAt, type Call, textOf } from '../parts/api.js'
import { type Action, type Field, field, type Values } from './action.js'

/** A cluster, node or link, or the whole lab. `key`: its key in `survey.actions`. `only`: the action to open. */
export interface Subject {
  readonly key: string
  readonly title: string
  readonly only?: AvailableAction
}

/** Opens the dialog with the actions of a subject. Undefined on a read-only page, and if the data is out of date. */
export type OpenActions = ((subject: Subject) => void) | undefined

const ask = apiAt('', '"understudy web" does not respond')
const own = (method: Call['method'], path: string, body?: object): Call => ({
  method,
  path,
  isOwn: true,
  ...(body && { body: JSON.stringify(body) }),
})

/** Stops a job. Rejects with an Error whose message can be shown to the user. */
export const stop = (id: number): Promise<unknown> => ask(own('DELETE', `actions/${id}`))

/** Returns a root token for a cluster of the lab. Rejects with an Error whose message can be shown to the user. */
export const requestRootToken = async (cluster: string): Promise<string> =>
  textOf(await ask(own('POST', 'actions/root-token', { cluster })), 'token')

/** The input field of an action, by the input that the server requires. */
const INPUT_FIELDS: Readonly<Record<NonNullable<AvailableAction['asks']>, Field>> = {
  ms: field('milliseconds', 'ms', 'Milliseconds'),
  'new-snapshot': field('text', 'name', 'Name'),
  snapshot: field('pick', 'name', 'Snapshot', { none: 'No snapshots. Save one first.' }),
  drill: field('pick', 'name', 'Drill', { none: 'No drill fits this lab. Start a lab with another topology.' }),
}

/** Returns an action that `understudy web` plans and runs. `topology`: the initial topology of the lab. */
export const labAction = ({ label, title, verb, action, asks, options }: AvailableAction, topology: string): Action => {
  const input = asks && INPUT_FIELDS[asks]
  const bodyOf = ({ ms, name, ...others }: Values): PageAction => ({
    ...action,
    ...(ms === undefined ? {} : { ms: Number(ms) }),
    ...(name === undefined ? {} : { name }),
    ...Object.fromEntries(options.map(({ field: option }) => [option, others[option] === 'true'])),
  })
  return {
    ...{ label, title, verb },
    isAtOnce: !input,
    fields: [
      ...(input ? [input] : []),
      ...options.map((one) => field('force', one.field, one.label, { hint: one.consequence })),
    ],
    ...(input?.kind === 'pick' && {
      load: async () => [withChoices(input, await ask(own('GET', 'actions')), topology)],
    }),
    plan: (values) =>
      input && !values[input.name]
        ? undefined
        : ask(own('POST', 'actions/plan', bodyOf(values))).then((plan) => plan as unknown as PagePlan),
    // The page shows the progress of the job beside the diagram, so the dialog shows no response.
    run: (values) => ask(own('POST', 'actions', bodyOf(values))).then(() => ({})),
  }
}

/** Returns a field with the snapshots or drills of the server as options. Drills for this topology come first. */
const withChoices = (field: Field, response: unknown, topology: string): Field => {
  const { drills, snapshots } = response as PageChoices
  if (field.label === 'Snapshot')
    return { ...field, groups: [{ label: 'Saved snapshots', options: snapshots.map((name) => ({ name })) }] }
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
    ...field,
    groups: [
      { label: `For this topology (${topology})`, options: optionsFor(true) },
      { label: 'For other topologies (expectations may not apply)', options: optionsFor(false) },
    ],
  }
}
