import { formatTable } from './output.js'

/** The commands of a first session, in the order of their use. */
export const FIRST_HOUR: readonly (readonly [command: string, effect: string])[] = [
  ['up pr-dr', 'start A, its DR copy B and its secondary C, replicated'],
  ['status', 'show roles, lag and problems'],
  ['env A', 'print VAULT_ADDR and VAULT_TOKEN of A, for eval'],
  ['web', 'serve a page that shows and controls the lab'],
  ['drill run dr-failover', 'play a failover under client load, and measure it'],
  ['reset', 'return the lab to its state after "up"'],
  ['fault partition A B', 'cut the link between A and B'],
  ['heal --all', 'remove all faults'],
  ['failover A B', 'promote B in place of A'],
  ['down', 'stop the lab and remove its data'],
]

/** Returns the commands of a first session as a table for the help. */
export const describeFirstHour = (): string =>
  ['First commands:', formatTable(FIRST_HOUR.map(([command, effect]) => [`  ${command}`, effect]))].join('\n')
