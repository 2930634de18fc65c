import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../support/soak.js'
import { systemClock } from '../../src/base/clock.js'
import { createSeededRandom, type Random } from '../../src/base/random.js'
import type { Program } from '../support/program.js'

const UP_MS = 2500
const WAYS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL', 'a server', 'the lab daemon'] as const
const STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, 'a server': 2, 'the lab daemon': 2 } as const

/**
 * Starts a lab and interrupts it at a random moment: with a signal to the command, or by killing a server or the lab
 * daemon. `down` must then find everything that is left. Returns the actions, for the message of a failure.
 */
const interruptUp = async (home: LabHome, name: string, random: Random): Promise<string> => {
  const way = WAYS[random.bytes(1).readUInt8() % WAYS.length] ?? 'SIGINT'
  const delayMs = random.bytes(2).readUInt16BE() % UP_MS
  const story = `${way} after ${delayMs} ms`
  await using up = home.begin('up', 'dr', '--ports', 'random', '--name', name)
  await Promise.race([systemClock.sleep(delayMs), up.exit])
  if (way === 'a server' || way === 'the lab daemon') killOne(home, name, way)
  else up.signal(way)
  const status = await up.end()
  if (way === 'SIGKILL') return story
  checkEnd(up, way, status, story)
  return story
}

/** Checks the end of an interrupted command: it has succeeded, or it reports why it ended and left no server. */
const checkEnd = (
  up: Program,
  way: Exclude<(typeof WAYS)[number], 'SIGKILL'>,
  status: number | string,
  story: string,
) => {
  if (status === 0) return
  // A signal before the program handles it ends the program at once, before it starts anything.
  if (status === way) return
  expect([status, up.stderr], story).toEqual([STATUS[way], expect.stringContaining('its logs are in')])
}

const killOne = (home: LabHome, name: string, which: 'a server' | 'the lab daemon'): void => {
  try {
    const { clusters, keeper } = home.record(name)
    const pid = (which === 'the lab daemon' ? keeper : clusters.at(-1))?.process?.pid
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch {
    // The lab has no record yet, or the server has already ended.
  }
}

/** Interrupts two labs at the same time, then takes everything down, and checks that nothing is left. */
const runInterruptions = async (home: LabHome, rounds: number, seed: number): Promise<void> => {
  for (let round = 0; round < rounds; round++) {
    const stories = await Promise.all(
      ['one', 'two'].map((name) => interruptUp(home, name, createSeededRandom(`${seed}:${round}:${name}`))),
    )
    const down = await home.run('down', '--all')
    const story = `seed ${seed}, round ${round}: ${stories.join('; ')}\n${down.stderr}`
    expect([down.status, home.left(), home.processes()], story).toEqual([0, [], []])
  }
}

/** Two labs per round. `npm run soak -- starts` plays many rounds. */

const INTERRUPTED = soakRounds(6)
const WHOLE = soakRounds(2)

it('a start that is interrupted at any moment leaves nothing behind', {
  timeout: soakTimeoutMs(INTERRUPTED),
}, async () => {
  // Every run draws other moments. A failure prints the seed that repeats it.
  const seed = process.env.SOAK_SEED === undefined ? Date.now() % 2 ** 31 : soakSeed()
  console.info(`lab-starts: seed ${seed}, ${INTERRUPTED} rounds`)
  await using home = new LabHome()
  await runInterruptions(home, INTERRUPTED, seed)
})

it('two labs can be started and stopped at the same time', { timeout: soakTimeoutMs(WHOLE) }, async () => {
  await using home = new LabHome()
  const both = (...args: string[]) => Promise.all(['one', 'two'].map((name) => home.run(...args, '--name', name)))
  for (let round = 0; round < WHOLE; round++) {
    for (const { status, stderr } of await both('up', 'dr', '--ports', 'random'))
      expect(status, `up, round ${round}: ${stderr}`).toBe(0)
    const pids = ['one', 'two'].map((name) => home.record(name).clusters.map(({ process }) => process?.pid))
    expect(new Set(pids.flat()).size, `round ${round}`).toBe(4)
    // One lab is taken down while the status of the other is read.
    const [down, status] = await Promise.all([home.run('down', 'one'), home.run('status', '--name', 'two')])
    expect([down.status, status.status], `round ${round}: ${down.stderr}${status.stderr}`).toEqual([0, 0])
    expect(home.servers().sort(), `round ${round}`).toEqual([...(pids[1] ?? [])].sort())
    expect((await home.run('down', 'two')).status).toBe(0)
    expect([home.left(), home.processes()], `round ${round}`).toEqual([[], []])
  }
})
