/** Parameters that `npm run soak` sets for repeatable tests. Without them, a tier runs a few rounds. */

export const soakRounds = (few: number): number => Number(process.env.SOAK_ROUNDS ?? few)

/**
 * The seed of a tier is constant, so that runs of different versions are comparable. A soak draws a new seed each time.
 */
const TIER_SEED = 89_329_078

/** Returns a whole number. The caller prints it. */
export const soakSeed = (): number => Number(process.env.SOAK_SEED ?? TIER_SEED)

/** Returns the timeout of a test with this number of rounds. */
export const soakTimeoutMs = (rounds: number): number => 60_000 + rounds * 60_000
