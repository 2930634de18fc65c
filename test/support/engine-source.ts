import type { Engine } from '../../src/storage/engine/engine.js'
import type { EngineSource } from '../../src/storage/engine/engine-source.js'

/** A source of one engine: what takes its place is written over it. */
export const sourceOf = (engine: Engine): Pick<EngineSource, 'engine' | 'replace'> => ({
  engine,
  async replace(prepare) {
    await prepare(engine)
    return engine
  },
})
