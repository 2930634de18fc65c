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
 * The generations of an open data directory: the live one and the condemned ones. Each step is recorded before it is
 * taken, so that after a crash the next start can continue from the record.
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

  /** Reserves and condemns a new generation until it is live. Returns its number. */
  async begin(): Promise<number> {
    const found = await findGenerations(this.#path)
    const number = Math.max(this.#live, ...found) + 1
    this.#condemned.add(number)
    await this.write()
    return number
  }

  /**
   * Makes a generation live and condemns the previous one. If it rejects, nothing has changed in memory; see `write`.
   */
  async commit(generation: number): Promise<void> {
    await syncDirectory(generationDirectory(this.#path, generation))
    const condemned = this.#afterCommit(generation)
    await writeGenerationRecord(this.#path, { live: generation, condemned })
    this.#take(generation, condemned)
  }

  /**
   * Makes a generation live like `commit`. If the record was changed although the write reported an error, accepts the
   * change, as the next start will, and resolves to false. The record must then be written again before anything is
   * destroyed.
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

  /**
   * Writes the record from memory. After a failed write the file may differ, and the next start must find this state.
   */
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

  /**
   * Logs the generations that are neither live nor condemned. They stay, because they may be the only copy of some
   * data.
   */
  async tellStrangers(): Promise<void> {
    for (const generation of await findGenerations(this.#path)) {
      if (generation === this.#live || this.#condemned.has(generation)) continue
      const directory = generationDirectory(this.#path, generation)
      this.#log.warn('a storage generation is neither live nor condemned: it stays on disk', { directory })
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
