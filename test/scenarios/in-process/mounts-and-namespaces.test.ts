import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'

const inside = (namespace: string) => ({ headers: { 'X-Vault-Namespace': namespace } })

it('a namespace and a mount cannot be created at conflicting paths', async () => {
  await using lab = await startLab('single')
  const { client } = lab.A
  const asked = async (method: string, path: string, body: object = {}, namespace = '') => {
    const options = { body, ...(namespace === '' ? {} : inside(namespace)) }
    const { status, json } = await client.send(method, path, options)
    return `${status} ${String(json?.errors ?? '')}`.trim()
  }
  const kv = { type: 'kv' }
  await client.write('sys/mounts/taken', kv)
  await client.write('sys/mounts/deep/taken', kv)
  await client.write('sys/namespaces/ns1', {})
  await client.call('POST', 'sys/mounts/inner', { body: kv, ...inside('ns1') })

  expect(await asked('POST', 'sys/namespaces/taken')).toBe('400 path is already in use at taken/')
  expect(await asked('POST', 'sys/namespaces/deep')).toBe('400 path is already in use at deep/taken/')
  expect(await asked('POST', 'sys/namespaces/inner', {}, 'ns1')).toBe('400 path is already in use at ns1/inner/')
  expect(await asked('POST', 'sys/mounts/ns1', kv)).toBe('400 path is already in use at ns1/')
  expect(await asked('POST', 'sys/mounts/ns1/kv', kv)).toBe('400 path is already in use at ns1/')
  expect(await asked('POST', 'sys/remount', { from: 'taken', to: 'ns1/kv' })).toBe('400 path already in use at "ns1/"')
  expect(await asked('POST', 'sys/remount', { from: 'taken', to: 'ns1' })).toBe('400 path already in use at "ns1/"')
  expect(await asked('POST', 'sys/remount', { from: 'taken', to: 'cubbyhole/x' })).toBe(
    '400 path already in use at "cubbyhole/"',
  )
  expect(await asked('POST', 'sys/remount', { from: 'taken', to: 'sys/x' })).toBe(
    '400 cannot remount to destination sys/x/',
  )
  expect(await asked('POST', 'sys/remount', { from: 'taken', to: 'auth/' })).toMatch(/^400 cannot /)
  // A path with the same prefix, an auth method of the same name, and a mount inside the namespace do not conflict.
  expect(await asked('POST', 'sys/namespaces/take')).toBe('200')
  expect(await asked('POST', 'sys/mounts/ns', kv)).toBe('204')
  expect(await asked('POST', 'sys/auth/ns1', { type: 'approle' })).toBe('204')
  expect(await asked('POST', 'sys/mounts/taken', kv, 'ns1')).toBe('204')
  expect(await asked('POST', 'sys/namespaces/taken', {}, 'take')).toBe('200')
  expect(await asked('POST', 'taken/a', { v: 1 })).toBe('204')
  // After the mount is removed, its path is free.
  expect(await asked('DELETE', 'sys/mounts/taken')).toBe('204')
  expect(await asked('POST', 'sys/namespaces/taken')).toBe('200')
})
