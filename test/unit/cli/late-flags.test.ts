/** Flags at the positions that scripts use: before, between and after the words of a command. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openShell, type Shell } from './vault-io.js'

const SECRET = { request_id: 'r', data: { a: '1' }, warnings: null }

let bodies: string[]
let lines: string[]
let server: http.Server
let shell: Shell

beforeAll(async () => {
  server = http.createServer(async (request, response) => {
    lines.push(`${request.method} ${request.url}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    bodies.push(Buffer.concat(chunks).toString('utf8'))
    response.end(JSON.stringify(SECRET))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  shell = openShell({ VAULT_ADDR: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, VAULT_TOKEN: 't' })
})

beforeEach(() => {
  bodies = []
  lines = []
})

afterAll(async () => {
  shell[Symbol.dispose]()
  await new Promise((resolve) => server.close(resolve))
})

const run = (line: string) => shell.run(line.split(' '))

describe('-format is a flag wherever it stands before a --', () => {
  it.each([
    'write -format=json a/b id=x',
    'write a/b -format=json id=x',
    'write a/b id=x -format=json',
    'write a/b id=x --format=json',
    'write a/b -format json id=x',
    'write a/b id=x --format json',
    'write a/b id=x -format=table -format=json',
    'write -format=table a/b id=x -format=json',
    '-format=json write a/b id=x',
    '--format json write a/b id=x',
  ])('-format is a flag anywhere before a --: vault %s', async (line) => {
    const { status, stdout, stderr } = await run(line)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ data: { a: '1' } })
    expect(bodies).toEqual(['{"id":"x"}'])
  })

  it.each([
    ['secrets -format=json list', 'GET /v1/sys/mounts'],
    ['-format json secrets list', 'GET /v1/sys/mounts'],
    ['auth -format=json list', 'GET /v1/sys/auth'],
    [
      'operator -format=json raft -tls-skip-verify autopilot get-config',
      'GET /v1/sys/storage/raft/autopilot/configuration',
    ],
    ['token -format=json lookup', 'GET /v1/auth/token/lookup-self'],
  ])('-format and other flags may stand between command words: vault %s', async (line, request) => {
    const { status, stdout } = await run(line)
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toBeTruthy()
    expect(lines).toEqual([request])
  })

  it('-format is an argument after a --', async () => {
    const { status, stderr } = await run('write a/b id=x -- -format=json')
    expect({ status, asked: lines.length }).toEqual({ status: 1, asked: 0 })
    expect(stderr).toContain('not of the form key=value')
  })

  it('-format rejects an unknown value', async () => {
    expect(await run('read a/b -format')).toMatchObject({ status: 1, stderr: 'flag needs an argument: -format\n' })
    expect(await run('read a/b -format=xml')).toMatchObject({ status: 1, stderr: 'Invalid output format: xml\n' })
  })
})

describe('other flags of how a command prints', () => {
  it('other output flags are found after the arguments, too', async () => {
    const shown = await run('read a/b -output-curl-string')
    expect(shown).toMatchObject({ status: 0, stdout: expect.stringMatching(/^curl .*\/v1\/a\/b\n$/) })
    expect((await run('write a/b k=v -output-policy')).stdout).toContain('path "a/b"')
    expect(lines).toEqual([])
    expect((await run('secrets list -detailed')).stdout).toContain('Deprecation Status')
  })

  it('flags for the server address after the arguments stay arguments, as in the reference', async () => {
    const { status, stderr } = await run('write a/b k=v -address=http://127.0.0.1:1')
    expect(status).toBe(0)
    expect(stderr).toContain('Flags must precede arguments; these were treated as arguments: -address=')
    expect(bodies).toEqual(['{"k":"v","-address":"http://127.0.0.1:1"}'])
  })
})
