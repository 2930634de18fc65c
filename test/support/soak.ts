/** What `npm run soak` asks of a drill that can be repeated; in a tier it runs a few rounds. */

export const soakRounds = (few: number): number => Number(process.env.SOAK_ROUNDS ?? few)

/** Printed by whoever draws from it. */
export const soakSeed = (): string => process.env.SOAK_SEED ?? String(Date.now())

/** Bounds a drill by its rounds. */
export const soakTimeoutMs = (rounds: number): number => 60_000 + rounds * 60_000
