import { resultOf } from './seed-result.js'
import { simulate } from './simulate.js'

/** Plays the seeds that it receives, one after another, and sends the result of each. Ends with its parent process. */
let last = Promise.resolve()

process.on('message', (seed: number) => {
  last = last.then(async () => void process.send?.(resultOf(await simulate(seed))))
})
process.on('disconnect', () => process.exit())
// The interrupt key signals all processes of a program. The parent process decides when this one ends.
process.on('SIGINT', () => undefined)
