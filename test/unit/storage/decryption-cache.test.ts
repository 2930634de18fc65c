import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../src/base/limits.js'
import { DecryptionCache } from '../../../src/storage/barrier/decryption-cache.js'

const bytes = (text: string) => Buffer.from(text)

describe('values that were decrypted', () => {
  it('a decrypted value is found by the exact ciphertext', () => {
    const values = new DecryptionCache()
    values.add('k', bytes('sealed'), bytes('plain'))
    expect(values.find('k', bytes('sealed'))).toEqual(bytes('plain'))
  })

  it('a decrypted value does not match another ciphertext or key', () => {
    const values = new DecryptionCache()
    values.add('k', bytes('sealed'), bytes('plain'))
    expect(values.find('k', bytes('sealeD'))).toBeUndefined()
    expect(values.find('l', bytes('sealed'))).toBeUndefined()
  })

  it('a large decrypted value is not cached', () => {
    const values = new DecryptionCache()
    const large = Buffer.alloc(LIMITS.decryptedValueBytesMax + 1)
    values.add('k', large, bytes('plain'))
    expect(values.find('k', large)).toBeUndefined()
  })

  it('an unused decrypted value is evicted after twice the maximum of new ones', () => {
    const values = new DecryptionCache()
    values.add('used', bytes('sealed'), bytes('plain'))
    values.add('left', bytes('sealed'), bytes('plain'))
    for (let n = 0; n < 2 * LIMITS.decryptedValuesMax; n++) {
      values.add(`k${n}`, bytes('sealed'), bytes('plain'))
      values.find('used', bytes('sealed'))
    }
    expect(values.find('used', bytes('sealed'))).toEqual(bytes('plain'))
    expect(values.find('left', bytes('sealed'))).toBeUndefined()
  })

  it('a decrypted value follows a new write of its key if it was used and has its own buffer', () => {
    const values = new DecryptionCache()
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

  it('clear removes all decrypted values', () => {
    const values = new DecryptionCache()
    values.add('k', bytes('sealed'), bytes('plain'))
    values.clear()
    expect(values.find('k', bytes('sealed'))).toBeUndefined()
  })
})
