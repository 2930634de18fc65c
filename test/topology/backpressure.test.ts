import { readFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { forEachOf } from '../support/load.js'

/** A secondary that does not read uses no memory of the primary: missing entries are read from disk later. */
const MIB = 1024 * 1024
const WRITES = 1600
const VALUE_BYTES = 64 * 1024
const WRITERS = 4
const EXTRA_BYTES_MAX = 64 * MIB
const SAMPLE_MS = 50

const clusters = openClusters()
let primary: Cluster
let secondary: Cluster
/** Maximum memory of the primary during the same writes with a secondary that reads. */
let ordinary: Memory

beforeAll(async () => {
  // Long timeouts, because the test needs a connected peer that does not read.
  const settings = { keepalive_time: '120s', keepalive_timeout: '120s' }
  primary = await clusters.add('A', { settings, hasLink: true })
  secondary = await clusters.add('C', { settings })
  await primary.client.write('sys/mounts/load', { type: 'kv', options: { version: '1' } })
  await clusters.join(primary, secondary, 'performance')
  // The garbage collector lets memory grow during such writes, even if the secondary reads. This growth is not counted.
  ordinary = (await stall({ name: 'that reads', begin: () => undefined, end: () => undefined })).most
})

const value = randomBytes((VALUE_BYTES * 3) / 4).toString('base64')

const writeMany = (folder: string, count: number) =>
  forEachOf(Array(count).keys(), WRITERS, async (index) => {
    await primary.client.write(`load/${folder}/${index}`, { value })
  })

interface Stall {
  readonly name: string
  readonly begin: () => void
  readonly end: () => void
}

const stalls: readonly Stall[] = [
  { name: 'behind a held link', begin: () => primary.link.hold(), end: () => primary.link.release() },
  {
    name: 'that is suspended',
    begin: () => secondary.process.signal('SIGSTOP'),
    end: () => secondary.process.signal('SIGCONT'),
  },
]

/**
 * Returns the resident memory of a server in bytes. `ownBytes`: memory of the process. `totalBytes`: also mapped pages
 * of database files, which the kernel can release.
 */
const memoryOf = ({ process: { pid } }: Cluster) => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  return { ownBytes: bytes('RssAnon'), totalBytes: bytes('VmRSS') }
}

type Memory = ReturnType<typeof memoryOf>

/** Samples the memory of the primary. `most` returns the maximum so far. */
const watchMemory = () => {
  let most = memoryOf(primary)
  const sampler = systemClock.setRepeating(SAMPLE_MS, () => {
    const now = memoryOf(primary)
    most = {
      ownBytes: Math.max(most.ownBytes, now.ownBytes),
      totalBytes: Math.max(most.totalBytes, now.totalBytes),
    }
  })
  return { most: () => most, stop: () => sampler.cancel() }
}

const mib = (bytes: number) => (bytes / MIB).toFixed(1)

const write = ({ ownBytes, totalBytes }: Memory) => `${mib(ownBytes)} MiB (${mib(totalBytes)} with mapped files)`

/** Writes while the secondary does not read, and waits until it has caught up. */
const stall = async ({ name, begin, end }: Stall) => {
  const memory = watchMemory()
  const startedMs = systemClock.monotonic()
  begin()
  await writeMany(name, WRITES).finally(end)
  const [most, resumedMs] = [memory.most(), systemClock.monotonic()]
  await clusters.untilReplicated(primary, secondary, 'performance', 180_000)
  memory.stop()
  console.log(
    `a secondary ${name}: ${mib(WRITES * VALUE_BYTES)} MiB written in ${Math.round(resumedMs - startedMs)} ms, caught up in ` +
      `${Math.round(systemClock.monotonic() - resumedMs)} ms; the primary had ${write(most)} at most meanwhile, ` +
      `${write(memory.most())} in all`,
  )
  return { most }
}

it.each(stalls)('a secondary $name uses no extra memory of the primary', async (how) => {
  const { most } = await stall(how)
  const read = await secondary.client.read(`load/${how.name}/${WRITES - 1}`)
  expect((read.data as { value: string }).value).toBe(value)
  const extraBytes = most.ownBytes - ordinary.ownBytes
  expect(extraBytes, 'extra bytes while the secondary does not read').toBeLessThan(EXTRA_BYTES_MAX)
})
