import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'

type Fields = Record<string, unknown>

const plaintext = Buffer.from('hello').toString('base64')
const dataOf = (answer: Fields): Fields => answer.data as Fields

it('a transit key works on a performance secondary, and on the DR copy after a failover', async () => {
  await using lab = await startLab('pr-dr')
  const { A, B, C } = lab
  await A.client.write('sys/mounts/transit', { type: 'transit' })
  await A.client.write('transit/keys/k', { type: 'aes256-gcm96' })
  await A.client.write('transit/keys/s', { type: 'ecdsa-p256' })
  const { ciphertext } = dataOf(await A.client.write('transit/encrypt/k', { plaintext }))
  const { signature } = dataOf(await A.client.write('transit/sign/s', { input: plaintext }))
  await lab.converged()
  await C.takeRoot()

  expect(dataOf(await C.client.write('transit/decrypt/k', { ciphertext }))).toEqual({ plaintext })
  expect(dataOf(await C.client.write('transit/verify/s', { input: plaintext, signature }))).toEqual({ valid: true })
  const signedThere = dataOf(await C.client.write('transit/sign/s', { input: plaintext })).signature
  expect(dataOf(await A.client.write('transit/verify/s', { input: plaintext, signature: signedThere }))).toEqual({
    valid: true,
  })

  // A rotation on the secondary rotates the key of the primary.
  expect(dataOf(await C.client.write('transit/keys/k/rotate', {}))).toMatchObject({ latest_version: 2 })
  expect(dataOf(await A.client.read('transit/keys/k'))).toMatchObject({ latest_version: 2 })
  await lab.converged()
  const rewrapped = dataOf(await C.client.write('transit/rewrap/k', { ciphertext })).ciphertext
  expect(rewrapped).toMatch(/^vault:v2:/)

  await lab.failover('A', 'B')
  expect(dataOf(await B.client.write('transit/decrypt/k', { ciphertext: rewrapped }))).toEqual({ plaintext })
  expect(dataOf(await B.client.write('transit/verify/s', { input: plaintext, signature: signedThere }))).toEqual({
    valid: true,
  })
})

it('the update capability encrypts with existing keys, and only the create capability creates one', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await A.client.write('sys/mounts/transit', { type: 'transit' })
  await A.client.write('transit/keys/there', {})
  const grant = async (name: string, capability: string): Promise<void> => {
    const policy = `path "transit/encrypt/*" { capabilities = ["${capability}"] }`
    await A.client.write(`sys/policies/acl/${name}`, { policy })
  }
  await grant('user', 'update')
  await grant('maker', 'create')
  await lab.converged()
  await C.takeRoot()
  for (const cluster of [A, C]) {
    const tokenOf = async (policy: string): Promise<string> =>
      String(((await cluster.client.write('auth/token/create', { policies: [policy] })).auth as Fields).client_token)
    const [user, maker] = [await tokenOf('user'), await tokenOf('maker')]
    const encrypt = async (token: string, key: string): Promise<number> =>
      (await cluster.client.send('POST', `transit/encrypt/${key}`, { token, body: { plaintext } })).status
    const name = cluster === A ? 'made-at-a' : 'made-at-c'
    expect([await encrypt(user, 'there'), await encrypt(user, name)]).toEqual([200, 403])
    expect([await encrypt(maker, 'there'), await encrypt(maker, name)]).toEqual([403, 200])
  }
  expect(dataOf(await A.client.call('LIST', 'transit/keys'))).toEqual({ keys: ['made-at-a', 'made-at-c', 'there'] })
})

it('keys of filtered and local mounts are not on the secondary', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  for (const [name, local] of [
    ['shared', false],
    ['held', false],
    ['own', true],
  ] as const) {
    await A.client.write(`sys/mounts/${name}`, { type: 'transit', local })
    await A.client.write(`${name}/keys/k`, {})
  }
  const { known_secondaries: known } = await A.status('performance')
  const filter = `sys/replication/performance/primary/paths-filter/${String(known)}`
  await A.client.write(filter, { mode: 'deny', paths: ['held/'] })
  await lab.converged()
  await C.takeRoot()
  const statusOf = async (name: string) => (await C.client.send('GET', `${name}/keys/k`)).status
  expect([await statusOf('shared'), await statusOf('held'), await statusOf('own')]).toEqual([200, 404, 404])
  const { ciphertext } = dataOf(await A.client.write('held/encrypt/k', { plaintext }))
  await A.client.call('DELETE', filter)
  await lab.converged()
  expect(dataOf(await C.client.write('held/decrypt/k', { ciphertext }))).toEqual({ plaintext })
})
