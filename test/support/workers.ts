import { availableParallelism } from 'node:os'

/** Workers that vitest starts. Tests of servers wait for much of their time: more workers than cores keep the cores busy. */
export const WORKERS = availableParallelism() * 2
