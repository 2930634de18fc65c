import type { Random } from '../../base/random.js'
import { SHORT_HASH_BYTES } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { RemotePosition, WalPosition } from '../keys/replicable.js'

/** The state of a store. Every batch contains the new state, so that it matches the content of the engine. */
export interface StoreState {
  /** Number of batches so far. It shows whether a snapshot contains the batch in flight. */
  readonly revision: number
  /** The position after which the log starts. */
  readonly base: WalPosition
  readonly last: WalPosition
  readonly lastReplicatedIndex: number
  readonly lastShippedIndex: number
  /** The log index that the stored Merkle pages match; undefined if the stored pages are invalid. */
  readonly checkpoint: number | undefined
  readonly epoch: string
  readonly remote: RemotePosition | undefined
  readonly isResyncing: boolean
}

interface StateText extends Omit<StoreState, 'base' | 'last' | 'remote' | 'checkpoint'> {
  readonly base: readonly [number, string]
  readonly last: readonly [number, string]
  readonly checkpoint: number | null
  readonly remote: readonly [number, string, string] | null
}

/** Returns a random hash, so that no follower of another log has the same position. */
export const freshHash = (random: Random): Buffer => random.bytes(SHORT_HASH_BYTES)

export const freshState = (random: Random): StoreState => {
  const base = { index: 0, hash: freshHash(random) }
  return {
    revision: 0,
    base,
    last: base,
    lastReplicatedIndex: 0,
    lastShippedIndex: 0,
    checkpoint: 0,
    epoch: '',
    remote: undefined,
    isResyncing: false,
  }
}

const pair = ({ index, hash }: WalPosition): [number, string] => [index, hash.toString('hex')]
const position = ([index, hash]: readonly [number, string]): WalPosition => ({ index, hash: Buffer.from(hash, 'hex') })

export const serializeState = (state: StoreState): Buffer => {
  const text: StateText = {
    ...state,
    base: pair(state.base),
    last: pair(state.last),
    checkpoint: state.checkpoint ?? null,
    remote: state.remote === undefined ? null : [...pair(state.remote), state.remote.epoch],
  }
  return Buffer.from(JSON.stringify(text))
}

export const parseState = (bytes: Buffer): StoreState => {
  try {
    const text = JSON.parse(bytes.toString('utf8')) as StateText
    const remote = text.remote
    return {
      ...text,
      base: position(text.base),
      last: position(text.last),
      checkpoint: text.checkpoint ?? undefined,
      remote: remote === null ? undefined : { ...position([remote[0], remote[1]]), epoch: remote[2] },
    }
  } catch (error) {
    throw new LogicalError('internal', 'cannot read the storage: its state record is damaged', { cause: error })
  }
}
