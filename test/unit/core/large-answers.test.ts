import { describe, expect, it } from 'vitest'
import { readInRoom } from '../../../src/core/large-answers.js'
import { RawJson } from '../../../src/logical/json.js'

const large = { data: { data: new RawJson(`"${'x'.repeat(100_000)}"`) } }

describe('a read whose answer is large', () => {
  const read = async (hasRoom: boolean, response: typeof large | { data: RawJson } | undefined) => {
    const steps: string[] = []
    const answerRoom = {
      turn: () => undefined,
      tryEnter: () => {
        steps.push('try')
        return hasRoom
      },
      enter: async () => void steps.push('wait'),
    }
    await readInRoom({ operation: 'read', answerRoom }, async () => {
      steps.push('read')
      return response
    })
    return steps
  }

  it('is run anew when there is room for what it has found', async () => {
    expect(await read(false, large)).toEqual(['read', 'try', 'wait', 'read'])
    expect(await read(false, { data: large.data.data })).toEqual(['read', 'try', 'wait', 'read'])
    expect(await read(true, large)).toEqual(['read', 'try'])
  })

  it('never waits when it is small', async () => {
    expect(await read(false, { data: new RawJson('{}') })).toEqual(['read'])
    expect(await read(false, undefined)).toEqual(['read'])
  })
})
