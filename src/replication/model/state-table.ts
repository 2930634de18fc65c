/**
 * A state machine whose states carry data: the next state and the effects for each event in each state. The code does
 * not compile while a cell of a new state or event is missing. A cell receives only the data of its own state and
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

/** The next state, and the effects in the order of execution. */
export interface Step<State, Effect> {
  readonly to: State
  readonly effects: readonly Effect[]
}

/** Returns the step for an event. Has no side effects. */
export const step = <State extends { readonly is: string }, Event extends { readonly on: string }, Effect>(
  table: StateTable<State, Event, Effect>,
  state: State,
  event: Event,
): Step<State, Effect> => {
  const row = table[state.is as State['is']]
  const cell = row[event.on as Event['on']] as (state: State, event: Event) => Step<State, Effect>
  return cell(state, event)
}

/** Creates a step, for use in the cells of a table. */
export const to = <State, Effect>(state: State, ...effects: readonly Effect[]): Step<State, Effect> => ({
  to: state,
  effects,
})

/** The cell of an event that has no effect in a state. */
export const stay = <State>(state: State): Step<State, never> => ({ to: state, effects: NOTHING })

const NOTHING: readonly never[] = []

/** The cell of an event that is impossible in a state. Throws, because the sender of the event has a bug. */
export const never = (state: { readonly is: string }, event: { readonly on: string }): never => {
  throw new Error(`the event "${event.on}" is impossible in the state "${state.is}"`)
}
