import { findViolation, type Model, type Timed, type Violation } from './linearizability.js'

/** What clients asked of one key of a KV engine of version 2 that is never deleted, and were answered. */
export type KvOperation =
  | { readonly kind: 'read'; readonly version: number; readonly value: string | undefined }
  /** `version` is undefined where nobody knows whether it was written; in a whole history only where nobody has read it. */
  | { readonly kind: 'write'; readonly value: string; readonly cas?: number; readonly version: number | undefined }
  /** A compare-and-set that was refused since another version was there. */
  | { readonly kind: 'conflict'; readonly cas: number }

interface KvState {
  /** 0 before the first. */
  readonly version: number
  readonly value: string | undefined
}

/**
 * `taken`: the versions of which it is known what they hold: no other write can have made one of them. `last`: none beyond it
 * explains anything.
 */
const kvModel = (taken: ReadonlySet<number>, last: number): Model<KvState, KvOperation> => ({
  initial: { version: 0, value: undefined },
  step(state, operation) {
    if (operation.kind === 'read') {
      return operation.version === state.version && operation.value === state.value ? state : undefined
    }
    if (operation.kind === 'conflict') return operation.cas === state.version ? undefined : state
    const next = state.version + 1
    const { value, cas = state.version, version = taken.has(next) || next > last ? undefined : next } = operation
    return cas === state.version && version === next ? { version, value } : undefined
  },
  keyOf: ({ version, value }) => `${version} ${value}`,
  classOf(operation) {
    if (operation.kind !== 'write' || operation.version !== undefined) return undefined
    return `write ${operation.cas ?? 'any'}`
  },
})

/** Undefined when an order explains all that was answered about one key. */
export const findKvViolation = (history: readonly Timed<KvOperation>[]): Violation<KvOperation> | undefined => {
  const whole = withWhatReadersTell(history)
  const taken = new Set<number>()
  let last = 0
  for (const { operation } of whole) {
    const version = operation.kind === 'conflict' ? operation.cas : operation.version
    if (version === undefined) continue
    last = Math.max(last, version)
    if (operation.kind !== 'conflict') taken.add(version)
  }
  const isPossible = ({ operation }: Timed<KvOperation>): boolean => {
    if (operation.kind !== 'write' || operation.version !== undefined || operation.cas === undefined) return true
    return operation.cas <= last && !taken.has(operation.cas + 1)
  }
  return findViolation(kvModel(taken, last + 1), whole.filter(isPossible))
}

/** Of a write of unknown outcome that was read, the version is known, and that it was done before a reader was answered. */
const withWhatReadersTell = (history: readonly Timed<KvOperation>[]): readonly Timed<KvOperation>[] => {
  const read = new Map<string, { readonly version: number; answeredMs: number }>()
  const writers = new Map<string, number>()
  for (const { operation, answeredMs } of history) {
    if (operation.kind === 'conflict' || operation.value === undefined) continue
    if (operation.kind === 'write') writers.set(operation.value, (writers.get(operation.value) ?? 0) + 1)
    else {
      const known = read.get(operation.value)
      if (!known) read.set(operation.value, { version: operation.version, answeredMs })
      else known.answeredMs = Math.min(known.answeredMs, answeredMs)
    }
  }
  return history.map((timed) => {
    const { operation, calledMs } = timed
    if (operation.kind !== 'write' || operation.version !== undefined) return timed
    const told = read.get(operation.value)
    if (!told) return timed
    const answeredMs = writers.get(operation.value) === 1 ? Math.max(calledMs, told.answeredMs) : Infinity
    return { calledMs, answeredMs, operation: { ...operation, version: told.version } }
  })
}

/**
 * Of the answers to one client, which asks one thing at a time: the first that shows an older version than one before it did.
 * Undefined where each key only went on.
 */
export const findKvRegression = (history: readonly Timed<KvOperation>[]): Timed<KvOperation> | undefined => {
  let newest = 0
  for (const timed of [...history].sort((a, b) => a.calledMs - b.calledMs)) {
    const { operation } = timed
    if (operation.kind === 'conflict' || operation.version === undefined) continue
    if (operation.version < newest || (operation.kind === 'write' && operation.version === newest)) return timed
    newest = operation.version
  }
  return undefined
}

/** The history of several keys: each is an object of its own. */
export class KvHistory {
  readonly #byKey = new Map<string, Timed<KvOperation>[]>()
  /** How many operations it has. */
  size = 0
  /** Writes that were told not to have been done. */
  refusals = 0

  add(key: string, operation: Timed<KvOperation>): void {
    this.size++
    const known = this.#byKey.get(key)
    if (known) known.push(operation)
    else this.#byKey.set(key, [operation])
  }

  get keys(): Iterable<string> {
    return [...this.#byKey.keys()]
  }

  get all(): readonly Timed<KvOperation>[] {
    return [...this.#byKey.values()].flat()
  }

  /** The writes that were acknowledged. */
  get writes(): readonly Timed<KvOperation>[] {
    return this.all.filter(({ operation: { kind }, answeredMs }) => kind === 'write' && answeredMs !== Infinity)
  }

  count(isCounted: (operation: KvOperation) => boolean): number {
    return this.all.filter(({ operation }) => isCounted(operation)).length
  }

  /** The first key that went back for this client. */
  regression(): { readonly key: string; readonly at: Timed<KvOperation> } | undefined {
    for (const [key, history] of this.#byKey) {
      const at = findKvRegression(history)
      if (at) return { key, at }
    }
    return undefined
  }

  /** The first key whose answers no order explains. */
  violation(): (Violation<KvOperation> & { readonly key: string }) | undefined {
    for (const [key, history] of this.#byKey) {
      const violation = findKvViolation(history)
      if (violation) return { key, ...violation }
    }
    return undefined
  }

  /** What can be said without an order, where every value is written once and every key was read at the end. */
  get faults(): { readonly lost: readonly string[]; readonly doubled: readonly string[] } {
    const faults = [...this.#byKey.values()].map(findKvFaults)
    return { lost: faults.flatMap(({ lost }) => lost), doubled: faults.flatMap(({ doubled }) => doubled) }
  }
}

/** The values that were acknowledged and whose version holds another one, or none; and those that were seen as two versions. */
const findKvFaults = (history: readonly Timed<KvOperation>[]) => {
  const byVersion = new Map<number, Set<string>>()
  const versionsOf = new Map<string, Set<number>>()
  let end = { calledMs: -Infinity, version: 0 }
  for (const { operation, calledMs } of history) {
    if (operation.kind === 'conflict' || operation.version === undefined) continue
    const { version, value } = operation
    if (operation.kind === 'read' && calledMs >= end.calledMs) end = { calledMs, version }
    if (value === undefined) continue
    byVersion.set(version, (byVersion.get(version) ?? new Set()).add(value))
    versionsOf.set(value, (versionsOf.get(value) ?? new Set()).add(version))
  }
  const lost = history.flatMap(({ operation, answeredMs }) => {
    if (operation.kind !== 'write' || operation.version === undefined || answeredMs === Infinity) return []
    const { version, value } = operation
    return version > end.version || (byVersion.get(version)?.size ?? 0) > 1 ? [value] : []
  })
  const doubled = [...versionsOf].filter(([, versions]) => versions.size > 1).map(([value]) => value)
  return { lost, doubled }
}
