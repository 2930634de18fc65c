import { commandIn } from '../model/lab-directory.js'

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

/** Returns an operation as its reader calls it: as a command for this lab, or as a function of the library. */
export const operationFor = (reader: Reader | undefined, lab: string, words: string): string => {
  if (reader !== 'library') return commandIn(lab, words)
  const [, name = '', ...clusters] = /^(failover|rejoin) (\w+) (\w+)$/.exec(words) ?? []
  if (name !== '') return `lab.${name}(${clusters.map((cluster) => `'${cluster}'`).join(', ')})`
  const [, forced] = /^promote (\w+) --force$/.exec(words) ?? []
  return forced === undefined ? commandIn(lab, words) : `lab.failover(PRIMARY, '${forced}', { force: true })`
}
