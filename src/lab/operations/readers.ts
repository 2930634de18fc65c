import { commandIn } from '../model/lab-directory.js'
import type { Kind } from '../model/kinds.js'

/** The users who read the messages of operations. Each knows an option by another name. */
export type Reader = 'command' | 'library' | 'page'

export interface OptionNames {
  /** Promotes a secondary even if it lacks data. */
  readonly force: string
  /** What to do to accept the loss of this number of log entries, or of any number. */
  acceptLoss(entries: number | 'any'): string
}

export const OPTION_NAMES: Readonly<Record<Reader, OptionNames>> = {
  command: { force: '--force', acceptLoss: (entries) => `pass --accept-loss ${entries}` },
  library: {
    force: '{ force: true }',
    acceptLoss: (entries) => `pass { acceptLoss: ${entries === 'any' ? `'any'` : entries} }`,
  },
  page: { force: 'the option "Force"', acceptLoss: () => 'select "Accept any loss"' },
}

/** An operation that a message recommends. */
export interface Operation {
  readonly verb: 'failover' | 'filter clear' | 'heal' | 'losses' | 'promote' | 'rejoin'
  readonly clusters: readonly string[]
  /** Default: `dr`. */
  readonly kind?: Kind
  readonly isForced?: true
  /** The primary of the cluster that is promoted. */
  readonly primary?: string
}

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ')

/** The operations that have a function in the library. */
const IN_LIBRARY: Readonly<Partial<Record<Operation['verb'], (operation: Operation) => string>>> = {
  failover: ({ clusters }) => `lab.failover(${quoted(clusters)})`,
  heal: ({ clusters }) => `lab.link(${quoted(clusters)}).heal()`,
  promote: ({ clusters, primary = '' }) => `lab.failover(${quoted([primary, ...clusters])}, { force: true })`,
  rejoin: ({ clusters }) => `lab.rejoin(${quoted(clusters)})`,
}

/** Returns an operation as its reader calls it: as a command for this lab, or as a function of the library. */
export const operationFor = (reader: Reader, lab: string, operation: Operation): string => {
  const inLibrary = reader === 'library' ? IN_LIBRARY[operation.verb]?.(operation) : undefined
  if (inLibrary !== undefined) return inLibrary
  const { verb, clusters, kind = 'dr', isForced } = operation
  const flags = [...(kind === 'dr' ? [] : ['--kind', kind]), ...(isForced ? ['--force'] : [])]
  return commandIn(lab, [verb, ...clusters, ...flags].join(' '))
}
