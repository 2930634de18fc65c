/** Resolves when whatever waits for the processor has had its turn: for work in slices that never waits for a disk. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
