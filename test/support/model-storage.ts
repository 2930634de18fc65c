import type { EngineSource } from '../../src/storage/engine/engine-source.js'
import { createMemoryStorage, type ServerStorage, type StepListener } from '../../src/server/data/server-storage.js'

/** Storage in memory that lets the test look at every byte of the live generation. */
export interface WatchedStorage extends ServerStorage {
  /** What is stored where the text occurs in the key or the value. Only while a server has it open. */
  findText(text: string): Promise<string[]>
}

export const watchStorage = (onStep?: StepListener): WatchedStorage => {
  const inner = createMemoryStorage(onStep)
  let source: EngineSource | undefined
  return {
    path: inner.path,
    kill: () => inner.kill(),
    release: () => inner.release(),
    async open() {
      source = await inner.open()
      return source
    },
    async findText(text) {
      const found: string[] = []
      const needle = Buffer.from(text)
      for await (const chunk of source?.engine.scan({}) ?? []) {
        for (const { key, value } of chunk) if (key.includes(text) || value.includes(needle)) found.push(key)
      }
      return found
    },
  }
}
