import { expect, it } from 'vitest'
import { startLab, startLabOf } from '../../../src/index.js'
import { enablePrimary, secondaryToken } from '../../../src/lab/requests/replication.js'

const NS1 = { headers: { 'X-Vault-Namespace': 'ns1' } }
const FILTERS = 'sys/replication/performance'

it('no request to a secondary reveals filtered mounts', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await A.client.write('sys/namespaces/ns1', {})
  await A.client.write('sys/namespaces/ns2', {})
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await A.client.write('sys/auth/hidden', { type: 'approle' })
  const { known_secondaries: known, cluster_id: setId } = await A.status('performance')
  await lab.converged()
  await C.takeRoot()
  const asked = async (path: string) => {
    const { status, json } = await C.client.send('GET', path)
    return `${status} ${String(json?.errors ?? '')}`
  }
  const shown = ['sys/mounts/kv', 'sys/mounts/auth/hidden', 'sys/auth/hidden', 'sys/namespaces/ns1']
  for (const path of shown) expect(await asked(path), path).toBe('200 ')
  const paths = ['kv/', 'auth/hidden/', 'ns1/']
  await A.client.write(`${FILTERS}/primary/paths-filter/${String(known)}`, { mode: 'deny', paths })
  await lab.converged()
  expect(await asked('sys/mounts/kv')).toBe('400 No secret engine mount at kv/')
  expect(await asked('sys/mounts/auth/hidden')).toBe('400 No secret engine mount at auth/hidden/')
  expect(await asked('sys/auth/hidden')).toBe('400 No auth engine at hidden/')
  expect(await asked('sys/namespaces/ns1')).toBe('404 ')
  expect((await C.client.call('LIST', 'sys/namespaces')).data).toMatchObject({ keys: ['ns2/'] })
  expect((await A.client.call('LIST', 'sys/namespaces')).data).toMatchObject({ keys: ['ns1/', 'ns2/'] })
  // The cluster ID of the status names the filter of the secondary on both sides.
  for (const [cluster, side] of [
    [A, 'primary'],
    [C, 'secondary'],
  ] as const) {
    const { status } = await cluster.client.send('GET', `${FILTERS}/${side}/dynamic-filter/${String(setId)}`)
    expect(status, side).toBe(200)
  }
  await A.client.call('DELETE', `${FILTERS}/primary/paths-filter/${String(known)}`)
  await lab.converged()
  for (const path of shown) expect(await asked(path), path).toBe('200 ')
})

it('a secondary without namespaces yet responds that it is not ready, not that the namespace is unknown', async () => {
  const topology = { name: 'strangers', about: 'two strangers', clusters: ['A', 'B'], links: [] }
  await using lab = await startLabOf<'A' | 'B'>(topology)
  const { A, B } = lab
  await B.anonymous.send('POST', '/_understudy/v1/states/hold', { body: { state: 'bootstrapping' } })
  await A.client.write('sys/namespaces/ns1', {})
  await enablePrimary(A.client, 'performance')
  const token = await secondaryToken(A.client, 'performance', 'b')
  await B.client.write('sys/replication/performance/secondary/enable', { token })
  const health = { ...NS1, query: { sealedcode: '200' } }
  expect((await B.anonymous.send('GET', 'sys/health', health)).status).toBe(200)
  expect((await B.anonymous.send('GET', 'sys/replication/status', NS1)).status).toBe(200)
  expect((await B.anonymous.send('GET', 'sys/mounts', NS1)).status).toBe(503)
  expect((await B.anonymous.send('GET', 'ns1/sys/mounts')).status).toBe(503)
})
