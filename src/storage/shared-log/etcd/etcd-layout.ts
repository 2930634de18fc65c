import { LogicalError } from '../../../logical/errors.js'
import { SHORT_HASH_BYTES } from '../../../crypto/digest.js'
import { LOG_START } from '../raw-batch.js'
import type { RequestOp } from './etcd-api.js'
import type { LogPosition } from '../shared-log.js'

/**
 * The keys in etcd below the prefix of a cluster. A data life is the time between two replacements of all data. Data
 * lives are numbered from 0.
 *
 * - `base`: position of the image: index, hash, bytes appended so far, and the number of the current data life
 * - `end`: end of the log: index, hash, bytes appended so far
 * - `replaced`: number of a data life whose predecessors were deleted from etcd; their data stays in the files of the
 *   members until defragmentation
 * - `turn`: lock of the node that defragments members, bound to a lease; the other nodes wait
 * - `leader`: record of the leader, bound to a lease; the revision of its creation is the term
 * - `heartbeat`: duration of the leader's lease, written with each renewal and bound to the lease; absent while etcd is
 *   full
 * - `log/` + 14 hex digits: an entry, or the number of parts of a large entry
 * - `parts/` + 14 hex digits + `/` + 4 hex digits: a part of an entry
 * - `data/` + 4 hex digits + `/` + raw key: the image of data life 0. Part 0 is the value of the raw key, or the number
 *   of the other parts of a large value. Later data lives use `data-` + 8 hex digits + `/` instead of `data/`
 * - `nodes/` + ID: record of a node, bound to its lease
 */
export class EtcdLayout {
  readonly base: Buffer
  readonly end: Buffer
  readonly leader: Buffer
  readonly heartbeat: Buffer
  readonly forgotten: Buffer
  readonly turn: Buffer
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
    this.base = this.#key('base')
    this.end = this.#key('end')
    this.leader = this.#key('leader')
    this.heartbeat = this.#key('heartbeat')
    this.forgotten = this.#key('replaced')
    this.turn = this.#key('turn')
  }

  log(index: number): Buffer {
    return this.#key(`log/${hex(index, 14)}`)
  }

  logIndexOf(key: Buffer): number {
    return Number.parseInt(key.toString('utf8').slice(-14), 16)
  }

  part(index: number, part: number): Buffer {
    return this.#key(`parts/${hex(index, 14)}/${hex(part, 4)}`)
  }

  /** Returns the key after all parts of this entry and of earlier entries. */
  afterParts(index: number): Buffer {
    return this.#key(`parts/${hex(index + 1, 14)}/`)
  }

  /** Returns the layout of the image of one data life. */
  image(life: number): EtcdImageLayout {
    return new EtcdImageLayout(this.#prefix + (life === 0 ? FIRST_IMAGE : imageName(life)))
  }

  /** Returns the key ranges of the images of all other data lives. */
  otherImages(life: number): readonly KeyRange[] {
    const all = rangeOf(this.#key('data-'))
    if (life === 0) return [all]
    const { key, range_end } = this.image(life).all
    return [rangeOf(this.#key(FIRST_IMAGE)), { ...all, range_end: key }, { ...all, key: range_end }]
  }

  /** Returns operations that delete the images of all other data lives, and record the deletion. */
  withoutOthers(life: number): readonly RequestOp[] {
    const deletions = this.otherImages(life).map((range) => ({ request_delete_range: range }))
    return [...deletions, { request_put: { key: this.forgotten, value: Buffer.from(String(life)) } }]
  }

  get entries(): readonly KeyRange[] {
    return [rangeOf(this.#key('log/')), rangeOf(this.#key('parts/'))]
  }

  node(id: string): Buffer {
    return this.#key(`nodes/${id}`)
  }

  #key(name: string): Buffer {
    return Buffer.from(this.#prefix + name)
  }
}

const FIRST_IMAGE = 'data/'
const imageName = (life: number): string => `data-${hex(life, 8)}/`

interface KeyRange {
  readonly key: Buffer
  readonly range_end: Buffer
}

/** The keys of one image: its values and their parts. */
export class EtcdImageLayout {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  data(rawKey: string, part = 0): Buffer {
    return Buffer.from(`${this.#prefix}${hex(part, 4)}/${rawKey}`)
  }

  rawKeyOf(key: Buffer): string {
    return key.toString('utf8').slice(this.#prefix.length + PART_START)
  }

  get all(): KeyRange {
    return rangeOf(Buffer.from(this.#prefix))
  }

  /** The key range of the parts of large values. */
  get parts(): KeyRange {
    return { ...this.all, key: this.data('', 1) }
  }
}

const PART_START = '0000/'.length

const rangeOf = (prefix: Buffer): KeyRange => ({ key: prefix, range_end: endOf(prefix) })

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')

/** Returns the first key after all keys with this prefix. */
export const endOf = (prefix: Buffer): Buffer => {
  const end = Buffer.from(prefix)
  end[end.length - 1] = (end.at(-1) ?? 0) + 1
  return end
}

/** Returns the first key after `key`. */
export const after = (key: Buffer): Buffer => Buffer.concat([key, Buffer.alloc(1)])

/** A position in the log, and the total bytes of all entries up to this position, including deleted entries. */
export interface LogMark extends LogPosition {
  readonly bytes: number
}

/** The position of an image, and the number of its data life. */
export interface ImageMark extends LogMark {
  readonly life: number
}

export const START_MARK: ImageMark = { ...LOG_START, bytes: 0, life: 0 }

export const encodeMark = ({ index, hash, bytes, life = 0 }: LogMark & Partial<ImageMark>): Buffer =>
  Buffer.from(
    JSON.stringify({
      format: life === 0 ? 1 : 2,
      index,
      hash: hash.toString('hex'),
      bytes,
      ...(life > 0 && { life }),
    }),
  )

/**
 * Parses a mark. Returns `START_MARK` if the value is undefined. Throws `LogicalError` `internal` if an incompatible
 * version wrote the mark.
 */
export const parseMark = (value: Buffer | undefined): ImageMark => {
  if (!value) return START_MARK
  const { format, index, hash, bytes, life } = JSON.parse(value.toString('utf8')) as {
    format: number
    index: number
    hash: string
    bytes: number
    life?: number
  }
  if (format !== 1 && format !== 2)
    throw new LogicalError('internal', `cannot read the data in etcd: format ${format} is unknown to this version`)
  return { index, hash: Buffer.from(hash, 'hex'), bytes, life: life ?? 0 }
}

export const encodeHeartbeat = (leaseMs: number): Buffer => Buffer.from(JSON.stringify({ leaseMs }))

/** Returns the duration of the leader's lease in milliseconds. */
export const parseHeartbeat = (value: Buffer): number =>
  (JSON.parse(value.toString('utf8')) as { leaseMs: number }).leaseMs

/** Maximum bytes of the value of one etcd key. etcd limits a request to 1.5 MiB. */
const PART_BYTES = 1024 * 1024

const WHOLE = 0
const IN_PARTS = 1

/** Prepares a value for etcd. `first` is stored under the key of the value. `rest` are the parts of a large value. */
export const splitValue = (value: Buffer): { readonly first: Buffer; readonly rest: readonly Buffer[] } => {
  if (value.length <= PART_BYTES) return { first: Buffer.concat([Buffer.from([WHOLE]), value]), rest: [] }
  const rest: Buffer[] = []
  for (let at = 0; at < value.length; at += PART_BYTES) rest.push(value.subarray(at, at + PART_BYTES))
  const first = Buffer.alloc(5 + SHORT_HASH_BYTES)
  first[0] = IN_PARTS
  first.writeUInt32BE(rest.length, 1)
  value.copy(first, 5, 0, SHORT_HASH_BYTES)
  return { first, rest }
}

/** Returns the value, or the number of parts of a large value. */
export const openValue = (first: Buffer): Buffer | number =>
  first[0] === IN_PARTS ? first.readUInt32BE(1) : first.subarray(1)

/** Returns the hash of an entry. The hash is the first field of the entry. */
export const entryHashOf = (first: Buffer): Buffer => {
  const start = first[0] === IN_PARTS ? 5 : 1
  return first.subarray(start, start + SHORT_HASH_BYTES)
}
