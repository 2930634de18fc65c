import { randomRange } from '../../src/lab/model/ports.js'
import { WORKERS } from './workers.js'

/** Gives each vitest worker, and the programs that its tests start, random ports of its own. */
const { first, last } = randomRange(process.env.UNDERSTUDY_TEST_PORTS)
const count = Math.floor((last - first + 1) / WORKERS)
const start = first + count * (Number(process.env.VITEST_POOL_ID ?? '1') - 1)
process.env.UNDERSTUDY_RANDOM_PORTS = `${start}-${start + count - 1}`
