import type { Random } from '../../base/random.js'
import { SHORT_HASH_BYTES } from '../../crypto/digest.js'
import { LogicalError } from '../../logical/errors.js'
import type { RemotePosition, WalPosition } from '../keys/replicable.js'

/** The store's own record. It is written with every batch, so it always describes the exact content of the engine. */
export interface StoreState {
  /** Counts batches; shows whether a snapshot contains the batch in flight. */
  readonly revision: number
  /** The kept log begins after this position. */
  readonly base: WalPosition
  readonly last: WalPosition
  readonly lastReplicatedIndex: number
  readonly lastShippedIndex: number
  /** Log index to which the stored Merkle pages correspond; undefined if the pages must not be used. */
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

/** Returns a hash that no frame has, so that no follower of another log has a position of this log. */
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
    throw new LogicalError('internal', 'the state record of the storage is damaged', { cause: error })
  }
}
