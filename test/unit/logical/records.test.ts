import fc from 'fast-check'
import { expect, it } from 'vitest'
import { putRecord, readRecord } from '../../../src/logical/storage.js'
import { lowerNames } from '../../../src/logical/token-fields.js'
import { MemoryStorage } from '../../support/memory-storage.js'

const seed = Date.now() % 2 ** 31
console.info(`records: seed ${seed}`)

const put = (storage: MemoryStorage, value: unknown): Promise<void> =>
  storage.write((tx) => tx.put('role', Buffer.from(JSON.stringify(value))))

it('a record that is read repeatedly is one frozen object until it changes', async () => {
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

it('putRecord stores JSON, and a read returns the object that was put', async () => {
  const storage = new MemoryStorage()
  const record = { names: ['ä'] }
  await storage.write((tx) => putRecord(tx, 'role', record))
  expect(readRecord(storage, 'role')).toBe(record)
  expect(() => record.names.push('b')).toThrow(TypeError)
  expect(storage.get('role')).toEqual(Buffer.from('{"names":["ä"]}'))
})

it('sorted and unsorted name lists are normalized alike', () => {
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
