import { listDrillNames } from '../../lab/drills/catalogue.js'
import { TOPOLOGY_NAMES } from '../../lab/topology/catalogue.js'
import { ProcessOutput } from '../terminal/output.js'
import { makeProgram } from '../program.js'
import { COMMANDS } from '../vault/program/commands.js'
import { type CommandWords, type PackageNames, wordsOf } from './complete.js'

/** The words of the package for completion. The build writes them to a file. */
export interface ShippedWords extends PackageNames {
  readonly program: CommandWords
  /** Commands of the command line with the name `vault`. */
  readonly vault: readonly string[]
}

export const shippedWords = (): ShippedWords => ({
  program: wordsOf(makeProgram(new ProcessOutput(() => 0), () => undefined)),
  topologies: TOPOLOGY_NAMES,
  drills: listDrillNames(),
  vault: [...COMMANDS.keys()],
})
