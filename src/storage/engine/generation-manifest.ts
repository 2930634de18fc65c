import { rm } from 'node:fs/promises'
import type { Log } from '../../base/log.js'
import { syncDirectory } from './durable-file.js'
import {
  findGenerations,
  generationDirectory,
  readGenerationRecord,
  writeGenerationRecord,
} from './generation-record.js'

/**
 * The live generation and the condemned generations of an open data directory. A generation is condemned if it must be
 * removed. Each step is recorded on disk before it is executed, so that the next start after a crash can continue.
 */
export class GenerationManifest {
  readonly #path: string
  readonly #log: Log
  readonly #condemned: Set<number>
  #live: number

  constructor(path: string, live: number, condemned: readonly number[], log: Log) {
    this.#path = path
    this.#live = live
    this.#condemned = new Set(condemned)
    this.#log = log
  }

  get live(): number {
    return this.#live
  }

  /** Reserves the number of a new generation, which is condemned until it is live. Resolves to the number. */
  async begin(): Promise<number> {
    const found = await findGenerations(this.#path)
    const number = Math.max(this.#live, ...found) + 1
    this.#condemned.add(number)
    await this.write()
    return number
  }

  /**
   * Makes a generation live and condemns the previous one. If the call rejects, memory is unchanged, but the file may
   * have changed: see `write`.
   */
  async commit(generation: number): Promise<void> {
    await syncDirectory(generationDirectory(this.#path, generation))
    const condemned = this.#afterCommit(generation)
    await writeGenerationRecord(this.#path, { live: generation, condemned })
    this.#take(generation, condemned)
  }

  /**
   * Makes a generation live like `commit`. If the write fails but the record on disk names the new generation, accepts
   * the change, as the next start would, and resolves to false. The caller must then call `write` successfully before
   * it destroys a generation.
   */
  async commitOrFind(generation: number): Promise<boolean> {
    try {
      await this.commit(generation)
      return true
    } catch (error) {
      if ((await readGenerationRecord(this.#path))?.live !== generation) throw error
      this.#take(generation, this.#afterCommit(generation))
      return false
    }
  }

  /** Writes the record to disk. Must be repeated after a failure, because the file may then differ from memory. */
  write(): Promise<void> {
    return writeGenerationRecord(this.#path, { live: this.#live, condemned: [...this.#condemned] })
  }

  async remove(generation: number): Promise<void> {
    this.#condemned.add(generation)
    await this.write()
    await this.#destroy(generation)
    await this.write()
  }

  async removeCondemned(): Promise<void> {
    if (this.#condemned.size === 0) return
    for (const generation of this.#condemned) await this.#destroy(generation)
    await this.write()
  }

  /** Logs the generations that are neither live nor condemned. They may be the only copy of data, so they are kept. */
  async logUnknown(): Promise<void> {
    for (const generation of await findGenerations(this.#path)) {
      if (generation === this.#live || this.#condemned.has(generation)) continue
      const directory = generationDirectory(this.#path, generation)
      this.#log.warn('found an unknown storage generation: remove it if you do not need its data', {
        directory,
      })
    }
  }

  async #destroy(generation: number): Promise<void> {
    await rm(generationDirectory(this.#path, generation), { recursive: true, force: true })
    await syncDirectory(this.#path)
    this.#condemned.delete(generation)
    this.#log.info('storage generation destroyed', { generation })
  }

  #afterCommit(generation: number): number[] {
    const before = this.#live === generation ? [] : [this.#live]
    return [...[...this.#condemned].filter((one) => one !== generation), ...before]
  }

  #take(generation: number, condemned: readonly number[]): void {
    this.#live = generation
    this.#condemned.clear()
    for (const one of condemned) this.#condemned.add(one)
  }
}
