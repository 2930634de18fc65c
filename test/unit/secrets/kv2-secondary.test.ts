import { expect, it } from 'vitest'
import { kvType } from '../../../src/secrets/kv/backend.js'
import type { JsonObject } from '../../../src/logical/json.js'
import type { Operation } from '../../../src/logical/request.js'
import { BackendHarness, refusal } from '../../support/backend-harness.js'

const WRITES: readonly (readonly [Operation, string, JsonObject])[] = [
  ['delete', 'data/a', {}],
  ['delete', 'metadata/a', {}],
  ['update', 'delete/a', { versions: [1] }],
  ['update', 'undelete/a', { versions: [1] }],
  ['update', 'destroy/a', { versions: [1] }],
  ['patch', 'data/a', { data: { k: 'v' } }],
  ['update', 'data/a', { data: { k: 'v' }, options: { cas: 1 } }],
]

it.each(WRITES)('a secondary forwards %s %s of a secret that has not replicated yet', async (operation, path, body) => {
  const kv = new BackendHarness((context) => kvType.factory({ ...context, isReadOnly: () => true }), {
    options: { version: '2' },
  })
  expect(await refusal(kv.call(operation, path, body))).toEqual(['read-only', 'cannot write to readonly storage'])
})
