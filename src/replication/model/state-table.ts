/**
 * The next state and the effects for each event in each state of a machine whose states carry their data. A table is
 * total: a new state or event does not compile before its cells are written; and a cell sees nothing but the data of
 * its own state and event.
 */
export type StateTable<State extends { readonly is: string }, Event extends { readonly on: string }, Effect> = {
  readonly [Is in State['is']]: {
    readonly [On in Event['on']]: (
      state: Extract<State, { readonly is: Is }>,
      event: Extract<Event, { readonly on: On }>,
    ) => Step<State, Effect>
  }
}

/** Where an event leads, and what is to be done for it, in this order. */
export interface Step<State, Effect> {
  readonly to: State
  readonly effects: readonly Effect[]
}

/** The step of one event. Pure. */
export const step = <State extends { readonly is: string }, Event extends { readonly on: string }, Effect>(
  table: StateTable<State, Event, Effect>,
  state: State,
  event: Event,
): Step<State, Effect> => {
  const row = table[state.is as State['is']]
  const cell = row[event.on as Event['on']] as (state: State, event: Event) => Step<State, Effect>
  return cell(state, event)
}

/** A step, as cells write it. */
export const to = <State, Effect>(state: State, ...effects: readonly Effect[]): Step<State, Effect> => ({
  to: state,
  effects,
})

/** The cell of an event that means nothing in a state. */
export const stay = <State>(state: State): Step<State, never> => ({ to: state, effects: NOTHING })

const NOTHING: readonly never[] = []

/** The cell of an event that cannot come in a state: a bug of whoever sends it. */
export const never = (state: { readonly is: string }, event: { readonly on: string }): never => {
  throw new Error(`${event.on} cannot come while ${state.is}`)
}
