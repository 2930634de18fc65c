import { expect, it } from 'vitest'
import { describeKeys } from '../../../src/cli/commands/lab/describe-keys.js'

const cluster = (name: string, threshold: number, ...unsealKeys: string[]) => ({
  name,
  apiAddress: '',
  rootToken: '',
  threshold,
  unsealKeys,
})

it('the key description lists shared keys once with their purpose', () => {
  const keys = ['1'.repeat(64), '2'.repeat(64), '3'.repeat(64)]
  const clusters = [cluster('A', 2, ...keys), cluster('B', 2, ...keys), cluster('C', 1, 'aa'), cluster('D', 0)]
  const lines = describeKeys(clusters, (name) => name === 'C')
  expect(lines).toEqual([
    'key shares of A, B (threshold 2 of 3):',
    ...keys.map((key) => `  ${key}`),
    'recovery keys of C:',
    '  aa',
  ])
})
