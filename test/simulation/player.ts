import { playedOf } from './played.js'
import { simulate } from './simulate.js'

/** Plays the seeds that it is sent, one after the other, and says of each what came of it. Ends with whoever has started it. */
let last = Promise.resolve()

process.on('message', (seed: number) => {
  last = last.then(async () => void process.send?.(playedOf(await simulate(seed))))
})
process.on('disconnect', () => process.exit())
// A key that ends a program is heard by all its processes: when this one ends is up to that one.
process.on('SIGINT', () => undefined)
