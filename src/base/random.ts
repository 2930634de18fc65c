import { createHash, randomBytes } from 'node:crypto'

/** Randomness as an injected capability: the system's for real use, a seeded stream for simulations. */
export interface Random {
  bytes(length: number): Buffer
}

/** The system's generator, read in blocks because one system call per identifier is slow. */
export const createSystemRandom = (): Random => {
  let block: Buffer = Buffer.alloc(0)
  return {
    bytes(length) {
      if (length > 1024) return randomBytes(length)
      if (block.length < length) block = randomBytes(8192)
      const taken = Buffer.from(block.subarray(0, length))
      block.fill(0, 0, length)
      block = block.subarray(length)
      return taken
    },
  }
}

/** A reproducible stream: SHA-256 of seed and counter. Never for real keys. */
export const createSeededRandom = (seed: number | string): Random => {
  let counter = 0
  let rest = Buffer.alloc(0)
  return {
    bytes(length) {
      while (rest.length < length) {
        rest = Buffer.concat([rest, createHash('sha256').update(`${seed}:${counter++}`).digest()])
      }
      const taken = Buffer.from(rest.subarray(0, length))
      rest = rest.subarray(length)
      return taken
    },
  }
}
