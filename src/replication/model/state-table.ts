/**
 * The next state and the effects for each event in each state of a machine whose states carry data. A table is total: a
 * new state or event does not compile before its cells are defined. A cell sees only the data of its own state and
 * event.
 */
export type StateTable<State extends { readonly is: string }, Event extends { readonly on: string }, Effect> = {
  readonly [Is in State['is']]: {
    readonly [On in Event['on']]: (
      state: Extract<State, { readonly is: Is }>,
      event: Extract<Event, { readonly on: On }>,
    ) => Step<State, Effect>
  }
}

/** The next state, and the effects to execute in this order. */
export interface Step<State, Effect> {
  readonly to: State
  readonly effects: readonly Effect[]
}

/** Returns the step of one event. Pure. */
export const step = <State extends { readonly is: string }, Event extends { readonly on: string }, Effect>(
  table: StateTable<State, Event, Effect>,
  state: State,
  event: Event,
): Step<State, Effect> => {
  const row = table[state.is as State['is']]
  const cell = row[event.on as Event['on']] as (state: State, event: Event) => Step<State, Effect>
  return cell(state, event)
}

/** Creates a step. For use in cells. */
export const to = <State, Effect>(state: State, ...effects: readonly Effect[]): Step<State, Effect> => ({
  to: state,
  effects,
})

/** The cell of an event that has no effect in a state. */
export const stay = <State>(state: State): Step<State, never> => ({ to: state, effects: NOTHING })

const NOTHING: readonly never[] = []

/** The cell of an event that cannot occur in a state. Throws, because its sender has a bug. */
export const never = (state: { readonly is: string }, event: { readonly on: string }): never => {
  throw new Error(`${event.on} cannot come while ${state.is}`)
}
