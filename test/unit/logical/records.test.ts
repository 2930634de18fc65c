import fc from 'fast-check'
import { expect, it } from 'vitest'
import { putRecord, readRecord } from '../../../src/logical/storage.js'
import { lowerNames } from '../../../src/logical/token-fields.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const seed = Date.now() % 2 ** 31
console.info(`records: seed ${seed}`)

const put = (storage: MemoryStorage, value: unknown): Promise<void> =>
  storage.write((tx) => tx.put('role', Buffer.from(JSON.stringify(value))))

it('a record that is read again and again is one object until it changes, and nobody can change it', async () => {
  const storage = new MemoryStorage()
  expect(readRecord(storage, 'role')).toBeUndefined()
  await put(storage, { names: ['a'] })
  const first = readRecord<{ names: string[] }>(storage, 'role')
  expect(readRecord(storage, 'role')).toBe(first)
  expect(() => first?.names.push('b')).toThrow(TypeError)
  await put(storage, { names: ['b'] })
  expect(readRecord(storage, 'role')).toEqual({ names: ['b'] })
  expect(first).toEqual({ names: ['a'] })
})

it('a record that was put as one is read as the object that was put, and stands as its JSON', async () => {
  const storage = new MemoryStorage()
  const record = { names: ['ä'] }
  await storage.write((tx) => putRecord(tx, 'role', record))
  expect(readRecord(storage, 'role')).toBe(record)
  expect(() => record.names.push('b')).toThrow(TypeError)
  expect(storage.get('role')).toEqual(Buffer.from('{"names":["ä"]}'))
})

it('lists of names come out as if none were in order already', () => {
  const name = fc.oneof(fc.constantFrom('a', 'b', 'app', 'root', ' a', 'B', ''), fc.string({ maxLength: 3 }))
  const names = fc.array(name, { maxLength: 5 })
  fc.assert(
    fc.property(
      fc.oneof(
        names,
        names.map((list) => list.sort()),
      ),
      (list) => {
        const clean = list.map((one) => one.trim().toLowerCase()).filter((one) => one !== '')
        expect(lowerNames(list)).toEqual([...new Set(clean)].sort())
        expect(lowerNames(list)).not.toBe(list)
      },
    ),
    { seed },
  )
})
