import { availableParallelism } from 'node:os'

/** Number of vitest workers. Tests of servers often wait, so twice as many workers as cores use the cores better. */
export const WORKERS = availableParallelism() * 2
