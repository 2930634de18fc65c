/** Vault commands that are not supported, with the reason. */
import type { Command } from './command.js'

const reference = (name: string) => `use the ${name} of the reference, which works against this server.`
const noEngine = 'there is no such secret engine here; those that are mounted are listed by secrets list.'

const REASONS: Readonly<Record<string, string>> = {
  agent: reference('agent'),
  proxy: reference('proxy'),
  plugin: 'auth methods and secret engines are built in, and there is no catalog to read or to change.',
  'namespace lock': 'the API of a namespace cannot be locked here.',
  'namespace unlock': 'the API of a namespace cannot be locked here, so none is.',
  'operator diagnose':
    'understudy doctor looks at the machine, and the server lists all that is wrong with its configuration.',
  'operator import': 'there are no sources to import from here.',
  'operator migrate': 'there is one kind of storage here, and nothing to move data from.',
  'operator usage': 'clients are not counted here.',
  'operator utilization': 'nothing is counted here for a report.',
  debug: 'the server has neither profiles nor loggers to collect; its metrics are below sys/metrics.',
  monitor: 'the server does not stream its log; read it where the server writes it.',
  events: 'there are no event notifications here.',
  hcp: 'there is no cloud to connect to here.',
  pki: noEngine,
  ssh: noEngine,
  transit: 'keys cannot be imported here; the engine transit makes its own.',
  transform: noEngine,
}

export const refusedCommands: readonly Command[] = Object.entries(REASONS).map(([name, reason]) => ({
  name,
  usage: '',
  summary: `Refused: ${reason}`,
  flags: {},
  refusal: `vault ${name} is refused: ${reason}`,
  run: () => Promise.reject(new Error('a refused command does not run')),
}))
