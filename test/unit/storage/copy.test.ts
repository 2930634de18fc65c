import { expect, it } from 'vitest'
import { sourceOf } from '../../support/engine-source.js'
import { prepareCopy } from '../../../src/storage/shared-log/copy.js'
import { MemorySharedLog } from '../../../src/storage/shared-log/memory-shared-log.js'
import { ImageNeeded, type LogImage } from '../../../src/storage/shared-log/shared-log.js'
import { MemoryDisk, MemoryEngine } from '../../../src/storage/engine/memory-engine.js'
import { put } from './fixture.js'
import { contentOf, NodeWorld, TestNode } from './node-world.js'

/** A log whose first image becomes incomplete: the following entries are removed before they are read. */
class BusyLog extends MemorySharedLog {
  readonly #meanwhile: () => Promise<void>
  imagesRead = 0

  constructor(world: NodeWorld, meanwhile: () => Promise<void>) {
    super(world.log, world.clock)
    this.#meanwhile = meanwhile
  }

  override async readImage(signal: AbortSignal): Promise<LogImage> {
    const image = await super.readImage(signal)
    const isFirst = this.imagesRead++ === 0
    const meanwhile = this.#meanwhile
    return {
      position: image.position,
      async *chunks() {
        yield* image.chunks()
        if (isFirst) await meanwhile()
      },
      async *rest() {
        if (isFirst) throw new ImageNeeded('what was then is forgotten')
        yield* image.rest()
      },
    }
  }
}

it('a copy is read again if the entries after its image were removed in the meantime', async () => {
  const world = new NodeWorld(5)
  const leader = new TestNode(world, 'one')
  await leader.start()
  await leader.lead()
  const write = async (round: number) => {
    for (let at = 0; at < 20; at++) await put(leader.store, `logical/${at}`, `round ${round}`)
  }
  await write(1)
  const shared = new BusyLog(world, () => write(2))
  const disk = new MemoryDisk()
  const engine = new MemoryEngine(disk)
  expect(await prepareCopy(sourceOf(engine), shared, new AbortController().signal)).toBe(true)
  expect(shared.imagesRead).toBe(2)
  expect(contentOf(disk)).toEqual(contentOf(leader.disk))
})
