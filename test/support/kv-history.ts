import { findViolation, type Model, type Timed, type Violation } from './linearizability.js'

/** An operation on one key of a KV version 2 mount that is never deleted, with its response. */
export type KvOperation =
  | { readonly kind: 'read'; readonly version: number; readonly value: string | undefined }
  /** `version` is undefined if the outcome is unknown, and no client has read the value. */
  | { readonly kind: 'write'; readonly value: string; readonly cas?: number; readonly version: number | undefined }
  /** A compare-and-set that was rejected because the current version is not `cas`. */
  | { readonly kind: 'conflict'; readonly cas: number }

interface KvState {
  /** 0 before the first write. */
  readonly version: number
  readonly value: string | undefined
}

/**
 * Returns the model of one key. `taken`: versions with known values, which no write of unknown outcome can have
 * created. `last`: the highest version that can matter.
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

/** Returns undefined if the history of one key is linearizable. */
export const findKvViolation = (history: readonly Timed<KvOperation>[]): Violation<KvOperation> | undefined => {
  const whole = withReadVersions(history)
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

/**
 * Adds the version to each write of unknown outcome that a client has read. If only one write has this value, it also
 * took effect before the response to the first reader.
 */
const withReadVersions = (history: readonly Timed<KvOperation>[]): readonly Timed<KvOperation>[] => {
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
    const known = read.get(operation.value)
    if (!known) return timed
    const answeredMs = writers.get(operation.value) === 1 ? Math.max(calledMs, known.answeredMs) : Infinity
    return { calledMs, answeredMs, operation: { ...operation, version: known.version } }
  })
}

/**
 * Returns the first response to a sequential client that shows an older version than an earlier response, or undefined.
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

/** The history of several keys, which are independent objects. */
export class KvHistory {
  readonly #byKey = new Map<string, Timed<KvOperation>[]>()
  /** Number of operations. */
  size = 0
  /** Number of writes that a server reported as not executed. */
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

  /** The acknowledged writes. */
  get writes(): readonly Timed<KvOperation>[] {
    return this.all.filter(({ operation: { kind }, answeredMs }) => kind === 'write' && answeredMs !== Infinity)
  }

  count(isCounted: (operation: KvOperation) => boolean): number {
    return this.all.filter(({ operation }) => isCounted(operation)).length
  }

  /** Returns the first key whose versions went back, or undefined. */
  regression(): { readonly key: string; readonly at: Timed<KvOperation> } | undefined {
    for (const [key, history] of this.#byKey) {
      const at = findKvRegression(history)
      if (at) return { key, at }
    }
    return undefined
  }

  /** Returns the first key whose history is not linearizable, or undefined. */
  violation(): (Violation<KvOperation> & { readonly key: string }) | undefined {
    for (const [key, history] of this.#byKey) {
      const violation = findKvViolation(history)
      if (violation) return { key, ...violation }
    }
    return undefined
  }

  /** Lost and doubled writes. Requires that each value is written once, and that each key was read at the end. */
  get faults(): { readonly lost: readonly string[]; readonly doubled: readonly string[] } {
    const faults = [...this.#byKey.values()].map(findKvFaults)
    return { lost: faults.flatMap(({ lost }) => lost), doubled: faults.flatMap(({ doubled }) => doubled) }
  }
}

/**
 * `lost`: acknowledged values that are missing, or whose version has another value. `doubled`: values that were seen as
 * two versions.
 */
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
