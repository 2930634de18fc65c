import { expect, it } from 'vitest'
import { startLab } from '../../src/index.js'
import { Chance } from '../../src/server/simulated/chance.js'
import { DOUBLE, playDoublePromotion } from '../support/double-promotion.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../support/soak.js'

const rounds = soakRounds(8)
const seed = soakSeed()
const PAUSE_MS_MAX = 3_000

it(
  `a primary and all secondaries are consistent after each of ${rounds} double promotions in virtual time`,
  async () => {
    console.log(`seed ${seed}`)
    const failed: string[] = []
    for (let round = 1; round <= rounds; round++) {
      const settings = round % 2 === 0 ? { fence_client_writes: true } : {}
      await using lab = await startLab(DOUBLE, { simulated: true, seed: `${seed} ${round}`, settings })
      const chance = new Chance(`${seed} ${round}`)
      const play = playDoublePromotion(lab, { clock: lab.clock, chance, pauseMs: PAUSE_MS_MAX })
      await play.catch((error: unknown) =>
        failed.push(`round ${round}: ${error instanceof Error ? error.message : String(error)}`),
      )
    }
    expect(failed).toEqual([])
  },
  soakTimeoutMs(rounds),
)
