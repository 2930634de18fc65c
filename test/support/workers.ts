import { availableParallelism } from 'node:os'

/** Workers that vitest starts. Tests of servers wait for one third of their time: more workers than cores keep the cores busy. */
export const WORKERS = Math.ceil(availableParallelism() * 1.5)
