import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { until } from '../../support/until.js'

const wordOn = async (client: { send(method: string, path: string): Promise<{ json?: unknown }> }, path: string) =>
  ((await client.send('GET', path)).json as { data?: { word?: string } } | undefined)?.data?.word

it.each(['memory', 'disk'] as const)(
  'a lab with storage in %s goes back to its start and to snapshots',
  async (storage) => {
    await using lab = await startLab('pr-dr', { storage })
    const kv = { type: 'kv', options: { version: '1' } }
    await lab.A.client.write('sys/mounts/kv', kv)
    await lab.A.client.write('kv/a', { word: 'kept' })
    await lab.converged()
    const kept = await lab.snapshot()
    await lab.A.client.write('kv/a', { word: 'later' })
    lab.clock.advance('1h')
    lab.link('A', 'C').partition()
    await lab.A.crash()
    await lab.failover('A', 'B', { force: true })

    await lab.reset(kept)
    expect([lab.A.isRunning, lab.clock.skewMs]).toEqual([true, 0])
    expect(await wordOn(lab.A.client, 'kv/a')).toBe('kept')
    expect(await wordOn(lab.C.client, 'kv/a')).toBe('kept')
    await lab.A.client.write('kv/b', { word: 'after' })
    await until(async () => (await wordOn(lab.C.client, 'kv/b')) === 'after')
    await lab.healthy()

    await lab.reset()
    expect(await wordOn(lab.A.client, 'kv/a')).toBeUndefined()
    await lab.A.client.write('sys/mounts/kv', kv)
    await lab.A.client.write('kv/c', { word: 'again' })
    await lab.converged()
    await lab.A.crash()
    await lab.failover('A', 'B', { force: true })
    expect(await wordOn(lab.B.client, 'kv/c')).toBe('again')
  },
)

it('a filtered lab begins with what its topology says', async () => {
  await using lab = await startLab('filtered')
  expect((await lab.C.client.send('GET', 'US_data/data/customers')).status).toBe(200)
  expect((await lab.C.client.send('GET', 'EU_data/data/customers')).status).toBe(404)
  await lab.reset()
  expect((await lab.E.client.send('GET', 'US_data/data/customers')).status).toBe(404)
})
