import { describe, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { TransientMap } from '../../../src/base/transient-map.js'

const seed = Date.now() % 2 ** 31
console.info(`transient-map: seed ${seed}`)

describe('TransientMap', () => {
  it('TransientMap has the same content as a Map', () => {
    const random = createSeededRandom(seed)
    const below = (max: number): number => random.bytes(4).readUInt32BE() % max
    const transient = new TransientMap<number, { readonly step: number }>()
    const plain = new Map<number, { readonly step: number }>()
    for (let step = 0; step < 10_000; step++) {
      // A few keys exist at a time, and most are used once. Sometimes all are deleted.
      const key = step + below(100)
      const isAdded = below(2) === 0
      if (isAdded) {
        transient.set(key, { step })
        plain.set(key, { step })
      } else {
        transient.delete(key - 50)
        plain.delete(key - 50)
      }
      if (below(3000) === 0) {
        transient.clear()
        plain.clear()
      }
      expect([transient.size, transient.has(key), transient.get(key)]).toEqual([
        plain.size,
        plain.has(key),
        plain.get(key),
      ])
    }
    expect(new Map(transient)).toEqual(plain)
  })

  it('TransientMap counts a key once that is deleted twice, and accepts it again', () => {
    const map = new TransientMap<string, object>()
    const value = {}
    map.set('a', value)
    map.delete('a')
    map.delete('a')
    map.delete('never')
    expect([map.size, map.has('a'), [...map]]).toEqual([0, false, []])
    map.set('a', value)
    expect([map.size, [...map]]).toEqual([1, [['a', value]]])
  })
})
