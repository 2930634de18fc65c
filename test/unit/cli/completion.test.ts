import { describe, expect, it } from 'vitest'
import { complete, wordsOf } from '../../../src/cli/completion/complete.js'
import { ProcessOutput } from '../../../src/cli/terminal/output.js'
import { makeProgram } from '../../../src/cli/program.js'

const program = wordsOf(makeProgram(new ProcessOutput(() => 0), () => {}))
const names = {
  labs: () => ['default', 'drill'],
  clusters: (lab: string) => (lab === 'drill' ? ['A', 'B'] : lab === 'default' ? ['A', 'B', 'C'] : []),
  topologies: ['dr', 'pr-dr'],
  drills: ['dr-failover'],
  snapshots: () => ['before'],
}
const wordsFor = (...words: string[]) => complete(program, words, names).map(({ word }) => word)

describe('completion', () => {
  it.each([
    ['commands', ['swi'], ['switchover']],
    ['commands below one', ['fault', 'la'], ['latency']],
    ['topologies', ['up', ''], ['dr', 'pr-dr']],
    ['topologies of an option', ['doctor', '--topology', 'p'], ['pr-dr']],
    ['snapshots', ['snapshot', 'load', ''], ['before']],
    ['drills', ['drill', 'run', ''], ['dr-failover']],
    ['labs', ['status', '--name', ''], ['default', 'drill']],
    ['labs behind an equals sign', ['status', '--name=dr'], ['--name=drill']],
    ['labs where the shell parts at it', ['status', '--name', '=', 'dr'], ['drill']],
    ['clusters', ['failover', ''], ['A', 'B', 'C']],
    ['the other cluster', ['failover', 'A', ''], ['B', 'C']],
    ['clusters of the lab that is named', ['crash', '--name', 'drill', ''], ['A', 'B']],
    ['clusters of a lab that is not there', ['crash', '--name', 'none', ''], []],
    ['clusters again, where there may be several', ['start', 'A', 'B', ''], ['C']],
    ['choices of an option', ['activate', 'A', 'B', '--kind', ''], ['dr', 'performance']],
    ['choices of an argument', ['token', ''], ['dr-operation']],
    ['options', ['down', '--a'], ['--all']],
    ['options that are not there yet', ['down', '--all', '--a'], []],
    ['options of all commands', ['down', '--qu'], ['--quiet']],
    ['commands behind help', ['help', 'swi'], ['switchover']],
    ['nothing for files', ['wire', '--keep', ''], []],
    ['nothing of another program', ['exec', 'A', '--', 'st'], []],
    ['no commands that people do not type', ['keep'], []],
  ])('completion offers %s', (_, words, offered) => {
    expect(wordsFor(...words)).toEqual(offered)
  })
})
