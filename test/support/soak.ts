/** What `npm run soak` asks of a test that can be repeated; in a tier it runs a few rounds. */

export const soakRounds = (few: number): number => Number(process.env.SOAK_ROUNDS ?? few)

/** In a tier always the same, so that two runs of all tests differ by what was changed; a soak draws another each time. */
const TIER_SEED = 89_329_078

/** A whole number. Printed by whoever draws from it. */
export const soakSeed = (): number => Number(process.env.SOAK_SEED ?? TIER_SEED)

/** Bounds a test by its rounds. */
export const soakTimeoutMs = (rounds: number): number => 60_000 + rounds * 60_000
