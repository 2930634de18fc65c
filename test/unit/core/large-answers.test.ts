import { describe, expect, it } from 'vitest'
import { rawSize, readWithinBudget } from '../../../src/core/pipeline/large-answers.js'
import { RawJson } from '../../../src/base/json.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'

const text = `"${'x'.repeat(100_000)}"`
const large = { data: { data: new RawJson(text) } }

describe('a read whose answer is large', () => {
  const known = new Map<string, number>()
  const read = async (hasRoom: boolean, response: typeof large | { data: RawJson } | undefined, path = 'a') => {
    const steps: string[] = []
    const responseBudget = {
      turn: () => undefined,
      tryEnter: (bytes: number) => {
        steps.push(`try ${bytes}`)
        return hasRoom
      },
      enter: async () => void steps.push('wait'),
      expected: (place: string) => known.get(place),
      note: (place: string, bytes: number | undefined) => {
        if (bytes === undefined) known.delete(place)
        else known.set(place, bytes)
      },
    }
    const run = async () => {
      steps.push('read')
      return response
    }
    await readWithinBudget({ operation: 'read', responseBudget, namespace: ROOT_NAMESPACE, path }, run, rawSize)
    return steps
  }
  const tries = `try ${text.length}`

  it('a read with a large response is repeated once its response fits', async () => {
    expect(await read(false, large, 'b')).toEqual(['read', tries, 'wait', 'read'])
    expect(await read(false, { data: large.data.data }, 'c')).toEqual(['read', tries, 'wait', 'read'])
    expect(await read(false, { data: new RawJson(Buffer.from(text)) }, 'd')).toEqual(['read', tries, 'wait', 'read'])
    expect(await read(true, large, 'e')).toEqual(['read', tries])
  })

  it('a read waits first if its last response was large', async () => {
    await read(true, large, 'f')
    expect(await read(false, large, 'f')).toEqual([tries, 'wait', 'read'])
    expect(await read(true, undefined, 'f')).toEqual([tries, 'read'])
    expect(await read(false, { data: new RawJson('{}') }, 'f')).toEqual(['read'])
  })

  it('a read whose response grew is counted again with its new size', async () => {
    const smaller = { data: new RawJson(text.slice(0, 70_000)) }
    await read(true, smaller, 'g')
    expect(await read(true, large, 'g')).toEqual(['try 70000', 'read', tries])
    await read(true, smaller, 'g')
    expect(await read(false, large, 'g')).toEqual(['try 70000', 'wait', 'read', tries, 'wait', 'read'])
    expect(await read(true, smaller, 'g')).toEqual([tries, 'read'])
  })

  it('a read with a small response never waits', async () => {
    expect(await read(false, { data: new RawJson('{}') })).toEqual(['read'])
    expect(await read(false, undefined)).toEqual(['read'])
  })
})
