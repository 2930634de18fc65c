import { expect, it } from 'vitest'
import { startOpenServerProcess } from '../support/server-process.js'

it('a setting requires a token with sudo for ceremonies of key shares', async () => {
  await using server = await startOpenServerProcess({ allow_generate_root_unauthenticated: false })
  const stranger = server.client.with({ token: undefined })
  expect((await stranger.send('GET', 'sys/generate-root/attempt')).status).toBe(403)
  expect((await stranger.send('PUT', 'sys/generate-root/attempt', { body: {} })).status).toBe(403)
  expect((await server.client.send('GET', 'sys/generate-root/attempt')).status).toBe(200)
  await server.client.write('sys/policies/acl/reader', {
    policy: 'path "sys/generate-root/attempt" { capabilities = ["read"] }',
  })
  const made = await server.client.write('auth/token/create', { policies: ['reader'] })
  const reader = server.client.with({ token: String((made.auth as { client_token: unknown }).client_token) })
  expect((await reader.send('GET', 'sys/generate-root/attempt')).status).toBe(403)
  expect((await stranger.send('GET', 'sys/generate-root-token/attempt')).status).toBe(403)
})
