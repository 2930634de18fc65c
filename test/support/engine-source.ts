import type { Engine } from '../../src/storage/engine/engine.js'
import type { EngineSource } from '../../src/storage/engine/engine-source.js'

/** Returns a source with one engine. A successor generation overwrites the data of that engine. */
export const sourceOf = (engine: Engine): Pick<EngineSource, 'engine' | 'replace'> => ({
  engine,
  async replace(prepare) {
    await prepare(engine)
    return engine
  },
})
