import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findCompose } from '../../scripts/support/docker.js'
import { ROOT } from '../../scripts/support/run.js'
import { ApiClient } from '../../src/client/api-client.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { IMAGE } from './image.js'
import { until } from '../support/until.js'

/** The cluster of three containers in `docker-compose.nodes.yml`. */

const NAMES = ['a', 'b', 'c']
const addresses = new Map<string, string>()
const env: NodeJS.ProcessEnv = { ...process.env, UNDERSTUDY_IMAGE: IMAGE }

const compose = (...args: string[]) => {
  const [command = '', ...first] = findCompose() ?? ['docker-compose']
  const all = [...first, '-f', 'docker-compose.nodes.yml', '-p', `understudy-nodes-${process.pid}`, ...args]
  const { status, stdout, stderr } = spawnSync(command, all, { cwd: ROOT, env, encoding: 'utf8' })
  return { status, stdout, text: `${stdout}${stderr}` }
}

const clientOf = (name: string, token?: string) =>
  new ApiClient({ address: addresses.get(name) ?? '', timeoutMs: 60_000, ...(token !== undefined && { token }) })

const health = async (name: string) =>
  (
    await clientOf(name)
      .send('GET', 'sys/health')
      .catch(() => undefined)
  )?.status

beforeAll(async () => {
  for (const [name, { api }] of await randomPorts(NAMES)) {
    env[`${name.toUpperCase()}_PORT`] = String(api)
    addresses.set(name, `http://127.0.0.1:${api}`)
  }
  const up = compose('up', '-d')
  expect(up.status, up.text).toBe(0)
})

afterAll(() => void compose('down', '--volumes', '--timeout', '20'))

it('the containers of docker-compose.nodes.yml form one cluster, and another takes over when the active one is killed', async () => {
  for (const name of NAMES) await until(async () => (await health(name)) === 501)
  const init = compose('exec', '-T', 'a', 'vault', 'operator', 'init', '-format=json')
  expect(init.status, init.text).toBe(0)
  const { root_token } = JSON.parse(init.stdout) as { root_token: string }
  for (const name of ['b', 'c']) await until(async () => (await health(name)) === 473)
  await clientOf('c', root_token).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await clientOf('b', root_token).call('PUT', 'kv/it', { body: { value: 'kept' } })
  const peers = compose('exec', '-T', '-e', `VAULT_TOKEN=${root_token}`, 'b', 'vault', 'operator', 'raft', 'list-peers')
  expect(peers.stdout.match(/^(\w) +\1:8201 +(?:leader|follower) +true/gm), peers.text).toHaveLength(3)
  // On a slow machine, another node than the first one may have become active.
  const leader = /^(\w) .* leader /m.exec(peers.stdout)?.[1] ?? ''
  const [other = '', another = ''] = NAMES.filter((name) => name !== leader)
  expect(compose('kill', leader).status).toBe(0)
  await until(async () => (await health(other)) === 200 || (await health(another)) === 200)
  expect((await clientOf(other, root_token).send('GET', 'kv/it')).json?.data).toEqual({ value: 'kept' })
  expect(compose('start', leader).status).toBe(0)
  await until(async () => (await health(leader)) === 473)
  expect((await clientOf(leader, root_token).send('GET', 'kv/it')).json?.data).toEqual({ value: 'kept' })
})
