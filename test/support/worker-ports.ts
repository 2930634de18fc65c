import { randomRange } from '../../src/lab/model/ports.js'
import { WORKERS } from './workers.js'

/** Assigns a separate range of random ports to each vitest worker and its child processes. */
const { first, last } = randomRange(process.env.UNDERSTUDY_TEST_PORTS)
const count = Math.floor((last - first + 1) / WORKERS)
const start = first + count * (Number(process.env.VITEST_POOL_ID ?? '1') - 1)
process.env.UNDERSTUDY_RANDOM_PORTS = `${start}-${start + count - 1}`
