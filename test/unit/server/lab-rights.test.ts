import { expect, it } from 'vitest'
import type { LabRequest } from '../../../src/logical/incoming.js'
import { hasToken, hidePaths, requireOwnHost } from '../../../src/server/own-api/lab-server.js'

const request = (headers: LabRequest['headers'], isTls = false): LabRequest => ({
  ...{
    id: '',
    method: 'GET',
    path: 'info',
    query: {},
    body: Buffer.alloc(0),
    namespaceHeader: undefined,
    remoteAddress: '127.0.0.1',
  },
  headers,
  isTls,
})
const OWN = ['http://vault.example.com:8200', 'https://node-1.example.org:8201']

it.each([
  undefined,
  '127.0.0.1:8200',
  '[::1]:8200',
  '10.1.2.3',
  'localhost:8200',
  'LOCALHOST',
  'vault-a:8200',
  'a-0.a.lab.svc.cluster.local:8200',
  'host.docker.internal:8200',
  'vault.example.com:8200',
  'Node-1.Example.ORG',
])('a request with the Host %s is served', (host) => {
  expect(() => requireOwnHost(request({ host }), OWN)).not.toThrow()
})

it.each([
  'evil.example',
  'evil.example:8200',
  '127.0.0.1.evil.example',
  '',
  ' ',
  'a:b',
  'x.vault.example.com',
  '1.2.3',
])('a request with the Host %j is rejected, and served over TLS', (host) => {
  expect(() => requireOwnHost(request({ host }), OWN)).toThrow('does not name this server')
  expect(() => requireOwnHost(request({ host }, true), OWN)).not.toThrow()
})

it('no request matches an empty lab_api_token', () => {
  expect(hasToken(request({ 'x-understudy-token': '' }), '')).toBe(false)
  expect(hasToken(request({ 'x-understudy-token': 't' }), 't')).toBe(true)
  expect(hasToken(request({}), 't')).toBe(false)
})

it('responses without key names keep all other fields', () => {
  const entry = { index: 4, path: 'logical/secret', operation: 'put' }
  expect(hidePaths({ losses: [{ epoch: 'e', entries: [entry] }], fenced: null })).toEqual({
    losses: [{ epoch: 'e', entries: [{ ...entry, path: '' }] }],
    fenced: null,
  })
})
