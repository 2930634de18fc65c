import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { OpenedValues } from '../../../src/storage/barrier/opened-values.js'

const bytes = (text: string) => Buffer.from(text)

describe('values that were decrypted', () => {
  it('are found again by the very bytes they came from', () => {
    const values = new OpenedValues()
    values.add('k', bytes('sealed'), bytes('plain'))
    expect(values.find('k', bytes('sealed'))).toEqual(bytes('plain'))
  })

  it('do not count for other bytes or another key', () => {
    const values = new OpenedValues()
    values.add('k', bytes('sealed'), bytes('plain'))
    expect(values.find('k', bytes('sealeD'))).toBeUndefined()
    expect(values.find('l', bytes('sealed'))).toBeUndefined()
  })

  it('are not kept when they are large', () => {
    const values = new OpenedValues()
    const large = Buffer.alloc(LIMITS.openedValueBytesMax + 1)
    values.add('k', large, bytes('plain'))
    expect(values.find('k', large)).toBeUndefined()
  })

  it('are forgotten when twice as many others came since, unless they were asked for', () => {
    const values = new OpenedValues()
    values.add('used', bytes('sealed'), bytes('plain'))
    values.add('left', bytes('sealed'), bytes('plain'))
    for (let n = 0; n < 2 * LIMITS.openedValuesMax; n++) {
      values.add(`k${n}`, bytes('sealed'), bytes('plain'))
      values.find('used', bytes('sealed'))
    }
    expect(values.find('used', bytes('sealed'))).toEqual(bytes('plain'))
    expect(values.find('left', bytes('sealed'))).toBeUndefined()
  })

  it('follow a key that is written anew, where they were asked for and are a buffer of their own', () => {
    const values = new OpenedValues()
    const whole = Buffer.alloc(3, 'new')
    values.renew('k', bytes('resealed'), whole)
    expect(values.find('k', bytes('resealed'))).toBeUndefined()
    values.add('k', bytes('sealed'), bytes('old'))
    values.renew('k', bytes('resealed'), bytes('cut'))
    expect(values.find('k', bytes('sealed'))).toEqual(bytes('old'))
    values.renew('k', bytes('resealed'), whole)
    expect(values.find('k', bytes('resealed'))).toBe(whole)
    expect(values.find('k', bytes('sealed'))).toBeUndefined()
  })

  it('are gone after clearing', () => {
    const values = new OpenedValues()
    values.add('k', bytes('sealed'), bytes('plain'))
    values.clear()
    expect(values.find('k', bytes('sealed'))).toBeUndefined()
  })
})
