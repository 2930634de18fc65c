import type { Operation } from '../../logical/request.js'

/** The capabilities that a rule can grant, one bit each, in alphabetical order. */
export const CAPABILITY_BITS = {
  create: 1,
  delete: 2,
  deny: 4,
  list: 8,
  patch: 16,
  read: 32,
  sudo: 64,
  update: 128,
} as const

export type Capability = keyof typeof CAPABILITY_BITS

/** Capabilities of newer Vault versions. A policy may contain them, but they have no effect. */
export const IGNORED_CAPABILITIES: readonly string[] = ['recover', 'subscribe']

/** The `policy` values of the old rule syntax. */
export const OLD_POLICY_WORDS: Readonly<Record<string, readonly Capability[]>> = {
  deny: ['deny'],
  read: ['read', 'list'],
  write: ['create', 'read', 'update', 'delete', 'list'],
  sudo: ['create', 'read', 'update', 'delete', 'list', 'sudo'],
}

/** The capability bit that each operation requires. `help` requires none. */
export const NEEDED_BIT: Readonly<Record<Operation, number>> = {
  create: CAPABILITY_BITS.create,
  update: CAPABILITY_BITS.update,
  patch: CAPABILITY_BITS.patch,
  read: CAPABILITY_BITS.read,
  list: CAPABILITY_BITS.list,
  delete: CAPABILITY_BITS.delete,
  help: 0,
}

export const isCapability = (word: string): word is Capability => Object.hasOwn(CAPABILITY_BITS, word)

export const bitsOf = (capabilities: readonly Capability[]): number =>
  capabilities.reduce((bits, capability) => bits | CAPABILITY_BITS[capability], 0)

/**
 * Returns the names of the capabilities in `bits`, in alphabetical order. Returns only `deny` if `bits` is 0 or
 * includes `deny`.
 */
export const namesOf = (bits: number): Capability[] => {
  if (bits === 0 || (bits & CAPABILITY_BITS.deny) !== 0) return ['deny']
  return (Object.keys(CAPABILITY_BITS) as Capability[]).filter((name) => (bits & CAPABILITY_BITS[name]) !== 0)
}
