import { expect, it } from 'vitest'
import { type Kind, startLabOf } from '../../../src/index.js'
import { enablePrimary, secondaryToken } from '../../../src/lab/replication.js'

const TOPOLOGY = { name: 'strangers', about: 'two strangers', clusters: ['A', 'B'], links: [] }
const KINDS: readonly Kind[] = ['dr', 'performance']
const ALWAYS_SERVED = [
  'sys/seal-status',
  'sys/health?uninitcode=200&sealedcode=200&drsecondarycode=200&performancestandbycode=200&standbycode=200',
  'sys/replication/status',
  'sys/replication/dr/status',
  'sys/replication/performance/status',
]

it.each(KINDS)('a %s secondary that was wiped and cannot reach its primary still says what it is', async (kind) => {
  await using lab = await startLabOf<'A' | 'B'>(TOPOLOGY)
  await lab.B.anonymous.send('POST', '/_understudy/v1/states/hold', { body: { kind, state: 'bootstrapping' } })
  await enablePrimary(lab.A.client, kind)
  const token = await secondaryToken(lab.A.client, kind, 'b')
  await lab.B.client.write(`sys/replication/${kind}/secondary/enable`, { token })
  lab.B.useKeys({ rootToken: '', unsealKeys: lab.A.unsealKeys, threshold: lab.A.threshold })
  const answersOf = () => Promise.all(ALWAYS_SERVED.map(async (path) => statusOf(path)))
  const statusOf = async (path: string) => {
    const [name = '', query] = path.split('?')
    const { status } = await lab.B.anonymous.send('GET', name, {
      query: Object.fromEntries(new URLSearchParams(query)),
    })
    return `${name} ${status}`
  }
  const expected = ALWAYS_SERVED.map((path) => `${path.split('?')[0]} 200`)
  expect(await answersOf()).toEqual(expected)
  lab.link('A', 'B').partition()
  await lab.B.crash()
  await lab.B.start()
  expect(await answersOf()).toEqual(expected)
  expect(await lab.B.status(kind)).toMatchObject({ mode: 'bootstrapping' })
})
