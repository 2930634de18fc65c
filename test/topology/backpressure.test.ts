import { readFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { forEachOf } from '../support/load.js'

/** A secondary that does not read costs the primary no memory: what it misses waits on disk. */
const MIB = 1024 * 1024
const WRITES = 1600
const VALUE_BYTES = 64 * 1024
const WRITERS = 4
const EXTRA_BYTES_MAX = 64 * MIB
const SAMPLE_MS = 50

const clusters = openClusters()
let primary: Cluster
let secondary: Cluster
/** The most that the primary had while the secondary read what the same writes sent it. */
let ordinary: Memory

beforeAll(async () => {
  // Nobody is to be found dead in this test: what counts is a peer that is there and does not read.
  const settings = { keepalive_time: '120s', keepalive_timeout: '120s' }
  primary = await clusters.add('A', { settings, hasLink: true })
  secondary = await clusters.add('C', { settings })
  await primary.client.write('sys/mounts/load', { type: 'kv', options: { version: '1' } })
  await clusters.join(primary, secondary, 'performance')
  // The collector lets garbage of such writes pile up to its own measure, whoever reads: that is not to be counted.
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
  { name: 'behind a link that holds', begin: () => primary.link.hold(), end: () => primary.link.release() },
  {
    name: 'that is frozen',
    begin: () => secondary.process.signal('SIGSTOP'),
    end: () => secondary.process.signal('SIGCONT'),
  },
]

/**
 * Resident memory now, in bytes: the process's own, and with the pages of database files that it has mapped, which are the
 * kernel's cache and go when somebody needs the room.
 */
const memoryOf = ({ process: { pid } }: Cluster) => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  return { ownBytes: bytes('RssAnon'), totalBytes: bytes('VmRSS') }
}

type Memory = ReturnType<typeof memoryOf>

/** Watches the primary's memory; each call gives the most it had. */
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

/** Writes while the secondary does not read, and lets it catch up. */
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

it.each(stalls)('spends no memory on a secondary $name', async (how) => {
  const { most } = await stall(how)
  const read = await secondary.client.read(`load/${how.name}/${WRITES - 1}`)
  expect((read.data as { value: string }).value).toBe(value)
  const extraBytes = most.ownBytes - ordinary.ownBytes
  expect(extraBytes, 'extra bytes while the secondary does not read').toBeLessThan(EXTRA_BYTES_MAX)
})
