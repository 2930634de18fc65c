/**
 * The size of a block of a tar archive. Snapshots are tar archives (POSIX ustar) of small files with short names. Files
 * are written and read in order, with one whole file in memory at a time. Implemented here because one header format is
 * enough, whereas tar-stream supports all formats and adds a stream library.
 */
const BLOCK = 512
const NAME_BYTES = 100
const SIZE_AT = 124
const CHECKSUM_AT = 148
const TYPE_AT = 156
/** The types of plain files. Old archives use the second type. */
const PLAIN: readonly (number | undefined)[] = [0x30, 0]
const MAGIC_AT = 257

export interface TarFile {
  readonly name: string
  readonly content: Buffer
}

interface ReadTarFile extends TarFile {
  /** False for a link, a directory, or an entry that describes another entry. */
  readonly isPlain: boolean
}

export class TarError extends Error {
  override readonly name = 'TarError'
}

/** Returns the header, the content and the padding of one file. */
export const tarFile = ({ name, content }: TarFile, timeMs: number): Buffer => {
  if (Buffer.byteLength(name) > NAME_BYTES) throw new Error('the name of a file in an archive is too long')
  const header = Buffer.alloc(BLOCK)
  const put = (at: number, digits: number, value: number) =>
    header.write(`${value.toString(8).padStart(digits - 1, '0')}\0`, at, 'latin1')
  header.write(name)
  put(100, 8, 0o600)
  put(108, 8, 0)
  put(116, 8, 0)
  put(SIZE_AT, 12, content.length)
  put(136, 12, Math.floor(timeMs / 1000))
  header.write('0', TYPE_AT, 'latin1')
  header.write('ustar\u000000', MAGIC_AT, 'latin1')
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, CHECKSUM_AT, 'latin1')
  return Buffer.concat([header, content, Buffer.alloc(padding(content.length))])
}

/** The end of an archive: two empty blocks after the last file. */
export const TAR_END = Buffer.alloc(2 * BLOCK)

/** Yields the files of an archive. Throws TarError if it is not an archive, is truncated, or is too large. */
export async function* readTar(pieces: AsyncIterable<Buffer>, fileBytesMax: number): AsyncGenerator<ReadTarFile> {
  const input = new Pieces(pieces[Symbol.asyncIterator]())
  for (;;) {
    const header = await input.take(BLOCK)
    if (header.every((byte) => byte === 0)) return
    const size = parseOctal(header, SIZE_AT, 12)
    if (parseOctal(header, CHECKSUM_AT, 8) !== checksum(header))
      throw new TarError('a header of the archive is damaged')
    if (size > fileBytesMax) throw new TarError('a file of the archive is too large')
    const content = Buffer.from(await input.take(size))
    await input.take(padding(size))
    yield { name: parseName(header), content, isPlain: PLAIN.includes(header[TYPE_AT]) }
  }
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK

/** Returns the checksum of a header: the sum of its bytes, with spaces in the field of the checksum. */
const checksum = (header: Buffer): number => {
  let sum = 8 * 0x20
  for (let at = 0; at < BLOCK; at++) if (at < CHECKSUM_AT || at >= CHECKSUM_AT + 8) sum += header[at] ?? 0
  return sum
}

const parseOctal = (header: Buffer, at: number, length: number): number => {
  const text = header.toString('latin1', at, at + length).replace(/[\0 ]+$/, '')
  if (!/^[0-7]+$/.test(text)) throw new TarError('a header of the archive is damaged')
  return Number.parseInt(text, 8)
}

const parseName = (header: Buffer): string => {
  const end = header.indexOf(0)
  return header.toString('utf8', 0, Math.min(end < 0 ? NAME_BYTES : end, NAME_BYTES))
}

class Pieces {
  readonly #source: AsyncIterator<Buffer>
  #waiting: Buffer[] = []
  #bytes = 0

  constructor(source: AsyncIterator<Buffer>) {
    this.#source = source
  }

  async take(count: number): Promise<Buffer> {
    while (this.#bytes < count) {
      const next = await this.#source.next()
      if (next.done) throw new TarError('the archive is truncated')
      this.#waiting.push(next.value)
      this.#bytes += next.value.length
    }
    const all = this.#waiting.length === 1 ? (this.#waiting[0] ?? TAR_END) : Buffer.concat(this.#waiting)
    this.#waiting = [all.subarray(count)]
    this.#bytes = all.length - count
    return all.subarray(0, count)
  }
}
