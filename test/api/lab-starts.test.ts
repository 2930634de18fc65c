import { expect, it } from 'vitest'
import { runInterruptions } from '../support/interrupted-up.js'
import { LabHome } from '../support/lab-home.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../support/soak.js'

/** Two labs at once in each round, of which `npm run soak -- starts` plays many. */

const INTERRUPTED = soakRounds(6)
const WHOLE = soakRounds(2)

it('leaves nothing behind when the start of a lab is interrupted at any moment', {
  timeout: soakTimeoutMs(INTERRUPTED),
}, async () => {
  // Every run draws other moments: what is found is told with the seed that finds it again.
  const seed = process.env.SOAK_SEED === undefined ? Date.now() % 2 ** 31 : soakSeed()
  console.info(`lab-starts: seed ${seed}, ${INTERRUPTED} rounds`)
  await using home = new LabHome()
  await runInterruptions(home, INTERRUPTED, seed)
})

it('starts and stops two labs side by side, each whole and alone', { timeout: soakTimeoutMs(WHOLE) }, async () => {
  await using home = new LabHome()
  const both = (...args: string[]) => Promise.all(['one', 'two'].map((name) => home.run(...args, '--name', name)))
  for (let round = 0; round < WHOLE; round++) {
    for (const { status, stderr } of await both('up', 'dr', '--ports', 'random'))
      expect(status, `up, round ${round}: ${stderr}`).toBe(0)
    const pids = ['one', 'two'].map((name) => home.record(name).clusters.map(({ process }) => process?.pid))
    expect(new Set(pids.flat()).size, `round ${round}`).toBe(4)
    // One goes while the other is looked at.
    const [down, status] = await Promise.all([home.run('down', 'one'), home.run('status', '--name', 'two')])
    expect([down.status, status.status], `round ${round}: ${down.stderr}${status.stderr}`).toEqual([0, 0])
    expect(home.servers().sort(), `round ${round}`).toEqual([...(pids[1] ?? [])].sort())
    expect((await home.run('down', 'two')).status).toBe(0)
    expect([home.left(), home.processes()], `round ${round}`).toEqual([[], []])
  }
})
