/** The requests of each command, as received by a server whose responses the test defines. */
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import * as openpgp from 'openpgp'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openShell, type Shell } from './vault-io.js'

interface Seen {
  readonly line: string
  readonly body: string
  readonly headers: http.IncomingHttpHeaders
}

interface Answer {
  readonly status?: number
  readonly body?: unknown
  /** Sent unchanged instead of `body`. */
  readonly raw?: string
  readonly headers?: Record<string, string>
}

const KV2 = { body: { request_id: 'r', data: { path: 'secret/', options: { version: '2' } } } }
const KV1 = { body: { request_id: 'r', data: { path: 'secret/', options: { version: '1' } } } }
const DONE = { status: 204 }

let seen: Seen[]
let answers: Answer[]
let server: http.Server
let shell: Shell

beforeEach(async () => {
  seen = []
  answers = []
  server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      seen.push({
        line: `${request.method} ${request.url}`,
        body: Buffer.concat(chunks).toString('utf8'),
        headers: request.headers,
      })
      const {
        status = 200,
        body,
        raw,
        headers = {},
      } = answers.shift() ?? { status: 599, body: { errors: ['not expected'] } }
      response.writeHead(status, headers)
      response.end(raw ?? (body === undefined ? undefined : JSON.stringify(body)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  shell = openShell({ VAULT_ADDR: `http://127.0.0.1:${port}`, VAULT_TOKEN: 't' })
})

afterEach(async () => {
  shell[Symbol.dispose]()
  await new Promise((resolve) => server.close(resolve))
})

const sent = () => seen.map(({ line, body }) => (body === '' ? line : `${line} ${body}`))

const PREFLIGHT = 'GET /v1/sys/internal/ui/mounts/secret/a'
const SEAL = { body: { sealed: false, t: 3, n: 5 } }
const SECRET = { body: { request_id: 'r', data: { data: { a: '1' }, metadata: { version: 4 } } } }
const VERSION = { body: { request_id: 'r', data: { version: 5 } } }
const INIT = { body: { keys: [], keys_base64: [], root_token: 'r' } }

const SEQUENCES: readonly [string, readonly Answer[], readonly string[]][] = [
  ['status', [SEAL, SEAL], ['GET /v1/sys/seal-status', 'GET /v1/sys/leader']],
  [
    'operator init',
    [SEAL, INIT],
    [
      'GET /v1/sys/seal-status',
      'PUT /v1/sys/init {"secret_shares":5,"secret_threshold":3,"pgp_keys":null,"recovery_shares":0,"recovery_threshold":0,"recovery_pgp_keys":null,"root_token_pgp_key":"","stored_shares":0}',
    ],
  ],
  [
    'operator init -recovery-shares=1 -recovery-threshold 1',
    [{ body: { recovery_seal: true } }, INIT],
    [
      'GET /v1/sys/seal-status',
      'PUT /v1/sys/init {"secret_shares":0,"secret_threshold":0,"pgp_keys":null,"recovery_shares":1,"recovery_threshold":1,"recovery_pgp_keys":null,"root_token_pgp_key":"","stored_shares":0}',
    ],
  ],
  ['operator init -status', [{ body: { initialized: true } }], ['GET /v1/sys/init']],
  [
    'operator unseal K',
    [SEAL, SEAL],
    ['PUT /v1/sys/unseal {"key":"K","reset":false,"migrate":false}', 'GET /v1/sys/leader'],
  ],
  ['operator unseal -reset', [SEAL, SEAL], ['PUT /v1/sys/unseal {"reset":true}', 'GET /v1/sys/leader']],
  ['operator step-down', [DONE], ['PUT /v1/sys/step-down']],
  ['license get', [SECRET], ['GET /v1/sys/license/status']],
  ['license get -dr-token=o', [SECRET], ['GET /v1/sys/replication/dr/secondary/license/status?dr_operation_token=o']],
  ['write -f a/b/', [DONE], ['PUT /v1/a/b null']],
  ['write /a n=5 l=x l=y', [DONE], ['PUT /v1/a {"n":"5","l":["x","y"]}']],
  ['read a p=1 p=2', [SECRET], ['GET /v1/a?p=1&p=2']],
  ['list a/b/', [{ body: { data: { keys: ['k'] } } }], ['GET /v1/a/b?list=true']],
  ['delete a', [DONE], ['DELETE /v1/a']],
  ['patch a b=c', [DONE], ['PATCH /v1/a {"b":"c"}']],
  ['kv put secret/a k=v', [KV2, VERSION], [PREFLIGHT, 'PUT /v1/secret/data/a {"data":{"k":"v"},"options":{}}']],
  [
    'kv put -cas=0 -mount=secret a k=v',
    [KV2, VERSION],
    ['GET /v1/sys/internal/ui/mounts/secret', 'PUT /v1/secret/data/a {"data":{"k":"v"},"options":{"cas":0}}'],
  ],
  ['kv put secret/a k=v', [KV1, DONE], [PREFLIGHT, 'PUT /v1/secret/a {"k":"v"}']],
  ['kv put secret/a k=v', [{ status: 404, body: { errors: [] } }, DONE], [PREFLIGHT, 'PUT /v1/secret/a {"k":"v"}']],
  ['kv get secret/a', [KV2, SECRET], [PREFLIGHT, 'GET /v1/secret/data/a']],
  ['kv get -version=2 secret/a', [KV2, SECRET], [PREFLIGHT, 'GET /v1/secret/data/a?version=2']],
  ['kv get secret/a', [KV1, SECRET], [PREFLIGHT, 'GET /v1/secret/a']],
  [
    'kv list secret/',
    [KV2, { body: { data: { keys: ['a'] } } }],
    ['GET /v1/sys/internal/ui/mounts/secret', 'GET /v1/secret/metadata?list=true'],
  ],
  ['kv delete secret/a', [KV2, DONE], [PREFLIGHT, 'DELETE /v1/secret/data/a']],
  ['kv delete -versions=1,2 secret/a', [KV2, DONE], [PREFLIGHT, 'PUT /v1/secret/delete/a {"versions":["1","2"]}']],
  ['kv undelete -versions=1 secret/a', [KV2, DONE], [PREFLIGHT, 'PUT /v1/secret/undelete/a {"versions":["1"]}']],
  ['kv destroy -versions=1 secret/a', [KV2, DONE], [PREFLIGHT, 'PUT /v1/secret/destroy/a {"versions":["1"]}']],
  ['kv patch secret/a k=v', [KV2, VERSION], [PREFLIGHT, 'PATCH /v1/secret/data/a {"data":{"k":"v"},"options":{}}']],
  [
    'kv patch secret/a k=v',
    [KV2, { status: 403, body: { errors: ['no'] } }, SECRET, VERSION],
    [
      PREFLIGHT,
      'PATCH /v1/secret/data/a {"data":{"k":"v"},"options":{}}',
      'GET /v1/secret/data/a',
      'PUT /v1/secret/data/a {"data":{"a":"1","k":"v"},"options":{"cas":4}}',
    ],
  ],
  [
    'kv rollback -version=2 secret/a',
    [KV2, SECRET, SECRET, VERSION],
    [
      PREFLIGHT,
      'GET /v1/secret/data/a',
      'GET /v1/secret/data/a?version=2',
      'PUT /v1/secret/data/a {"data":{"a":"1"},"options":{"cas":4}}',
    ],
  ],
  ['kv metadata delete secret/a', [KV2, DONE], [PREFLIGHT, 'DELETE /v1/secret/metadata/a']],
  [
    'secrets enable -path=p -version=2 kv',
    [DONE],
    [
      'POST /v1/sys/mounts/p {"type":"kv","description":"","config":{"force_no_cache":false},"local":false,"seal_wrap":false,"external_entropy_access":false,"options":{"version":"2"}}',
    ],
  ],
  ['policy write N -', [DONE], ['PUT /v1/sys/policies/acl/n {"policy":"path \\"a\\" {}"}']],
  ['policy list', [{ body: { data: { keys: ['n'] } } }], ['GET /v1/sys/policies/acl?list=true']],
  [
    'audit enable file file_path=stdout',
    [DONE],
    ['PUT /v1/sys/audit/file {"type":"file","description":"","options":{"file_path":"stdout"},"local":false}'],
  ],
  ['token lookup', [SECRET], ['GET /v1/auth/token/lookup-self']],
  ['token lookup x', [SECRET], ['POST /v1/auth/token/lookup {"token":"x"}']],
  ['token renew -increment=1h', [SECRET], ['PUT /v1/auth/token/renew-self {"increment":"1h0m0s"}']],
  ['token renew x', [SECRET], ['PUT /v1/auth/token/renew {"token":"x","increment":0}']],
  ['token revoke x', [DONE], ['PUT /v1/auth/token/revoke {"token":"x"}']],
  ['token revoke -self', [DONE], ['PUT /v1/auth/token/revoke-self']],
  ['token revoke -accessor x', [DONE], ['POST /v1/auth/token/revoke-accessor {"accessor":"x"}']],
  ['token revoke -mode=orphan x', [DONE], ['PUT /v1/auth/token/revoke-orphan {"token":"x"}']],
  [
    'token capabilities a/b',
    [{ body: { data: { capabilities: ['read'] } } }],
    ['POST /v1/sys/capabilities-self {"token":"t","path":"a/b"}'],
  ],
  ['unwrap', [SECRET], ['PUT /v1/sys/wrapping/unwrap']],
  ['unwrap w', [SECRET], ['PUT /v1/sys/wrapping/unwrap {"token":"w"}']],
  [
    'operator generate-root -dr-token -init',
    [{ body: { otp: 'o' } }],
    ['PUT /v1/sys/replication/dr/secondary/generate-operation-token/attempt {"otp":"","pgp_key":""}'],
  ],
  [
    'operator generate-root -nonce=n K',
    [{ body: { started: true, nonce: 'n' } }, { body: {} }],
    ['GET /v1/sys/generate-root/attempt', 'PUT /v1/sys/generate-root/update {"key":"K","nonce":"n"}'],
  ],
  ['operator generate-root -cancel', [DONE], ['DELETE /v1/sys/generate-root/attempt']],
  [
    'operator rekey -init -n=1 -key-threshold 1 -verify -format=json',
    [{ body: { started: true } }],
    ['PUT /v1/sys/rekey/init {"secret_shares":1,"secret_threshold":1,"backup":false,"require_verification":true}'],
  ],
  [
    'operator rekey -init -target=recovery -format=json',
    [{ body: { started: true } }],
    [
      'PUT /v1/sys/rekey-recovery-key/init {"secret_shares":5,"secret_threshold":3,"backup":false,"require_verification":false}',
    ],
  ],
  ['operator rekey -status', [{ body: { started: false } }], ['GET /v1/sys/rekey/init']],
  ['operator rekey -verify -status', [{ body: { started: true } }], ['GET /v1/sys/rekey/verify']],
  ['operator rekey -cancel', [DONE], ['DELETE /v1/sys/rekey/init']],
  ['operator rekey -verify -cancel -target=hsm', [DONE], ['DELETE /v1/sys/rekey-recovery-key/verify']],
  ['operator rekey -backup-retrieve', [{ body: { keys: { f: ['k'] } } }], ['GET /v1/sys/rekey/backup']],
  ['operator rekey -backup-delete -target=recovery', [DONE], ['DELETE /v1/sys/rekey/recovery-key-backup']],
  [
    'operator rekey K',
    [{ body: { started: true, nonce: 'n' } }, { body: { started: true } }],
    ['GET /v1/sys/rekey/init', 'PUT /v1/sys/rekey/update {"key":"K","nonce":"n"}'],
  ],
  [
    'operator rekey -verify -nonce=v K',
    [{ body: { started: true, nonce: 'n' } }, { body: { complete: true } }],
    ['GET /v1/sys/rekey/verify', 'PUT /v1/sys/rekey/verify {"key":"K","nonce":"v"}'],
  ],
  ['version-history', [{ body: { data: { keys: ['1.0.0'] } } }], ['GET /v1/sys/version-history?list=true']],
  [
    'operator raft autopilot get-config -dr-token=o',
    [SECRET],
    ['GET /v1/sys/storage/raft/autopilot/configuration?dr_operation_token=o'],
  ],
  [
    'operator raft autopilot set-config -min-quorum=3 -cleanup-dead-servers',
    [DONE],
    ['PUT /v1/sys/storage/raft/autopilot/configuration {"cleanup_dead_servers":true,"min_quorum":3}'],
  ],
  ['operator raft remove-peer n2', [DONE], ['PUT /v1/sys/storage/raft/remove-peer {"server_id":"n2"}']],
  [
    'operator raft join -retry -non-voter -leader-ca-cert=C -leader-client-cert=D -leader-client-key=E http://a',
    [{ body: { joined: true } }],
    [
      'POST /v1/sys/storage/raft/join {"leader_api_addr":"http://a","auto_join":"","auto_join_scheme":"https","auto_join_port":8200,"leader_ca_cert":"C","leader_client_cert":"D","leader_client_key":"E","retry":true,"non_voter":true}',
    ],
  ],
]

describe('requests of a command', () => {
  it.each(SEQUENCES)('vault %s', async (line, given, wanted) => {
    answers = [...given]
    const { status, stderr } = await shell.run(line.split(' '), { stdin: 'path "a" {}' })
    expect(sent()).toEqual(wanted)
    expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
  })

  it('vault requests contain token, namespace, wrapping TTL and custom headers', async () => {
    answers = [DONE]
    await shell.ok(['write', '-ns=a/b', '-wrap-ttl=90s', '-header=X-One=1', 'x', 'k=v'])
    expect(seen[0]?.headers).toMatchObject({
      'x-vault-request': 'true',
      'x-vault-token': 't',
      'x-vault-namespace': 'a/b/',
      'x-vault-wrap-ttl': '90s',
      'x-one': '1',
    })
  })

  it('vault wrap uses a TTL of five minutes by default', async () => {
    answers = [SECRET]
    await shell.ok(['write', 'sys/wrapping/wrap', 'k=v'])
    expect(seen[0]?.headers['x-vault-wrap-ttl']).toBe('5m')
  })

  it('vault commands do not wrap their mount lookup', async () => {
    answers = [KV2, SECRET]
    await shell.ok(['kv', 'get', '-wrap-ttl=60', 'secret/a'])
    expect(seen.map(({ headers }) => headers['x-vault-wrap-ttl'])).toEqual([undefined, '60'])
  })
})

describe('an answer that says no', () => {
  it.each([500, 502, 503, 412, 429])('the vault command retries an answer with status %i twice', async (status) => {
    answers = [{ status, body: { errors: ['no'] } }, { status, body: { errors: ['no'] } }, DONE]
    await shell.ok(['write', 'x', 'k=v'])
    expect(seen).toHaveLength(3)
    expect(shell.waits).toHaveLength(2)
    for (const ms of shell.waits) expect(ms >= 1000 && ms <= 1500).toBe(true)
  })

  it.each([400, 403, 404, 405, 501])('the vault command does not retry an answer with status %i', async (status) => {
    answers = [{ status, body: { errors: ['no'] } }]
    const { status: exit, stderr } = await shell.run(['write', 'x', 'k=v'])
    expect({ exit, requests: seen.length }).toEqual({ exit: 2, requests: 1 })
    const url = `${shell.env.VAULT_ADDR}/v1/x`
    expect(stderr).toBe(
      `Error writing data to x: Error making API request.\n\nURL: PUT ${url}\nCode: ${status}. Errors:\n\n* no\n`,
    )
  })

  it('VAULT_MAX_RETRIES sets the number of retries of the vault command', async () => {
    answers = [{ status: 503, body: { errors: ['Vault is sealed'] } }]
    const { status, stderr } = await shell.run(['read', 'x'], { env: { VAULT_MAX_RETRIES: '0' } })
    expect({ status, requests: seen.length }).toEqual({ status: 2, requests: 1 })
    expect(stderr).toContain('* Vault is sealed')
  })

  it('the vault command shows an error answer without errors in full', async () => {
    answers = [{ status: 400, body: 'a text' }]
    const { stderr } = await shell.run(['write', 'x', 'k=v'])
    expect(stderr).toContain('Code: 400. Raw Message:\n\n"a text"')
  })

  it.each([
    ['{"errors":[{}]}', '* {}'],
    ['{"errors":[{"a":1}]}', '* {"a":1}'],
    ['{"errors":[["x",null,1.50]]}', '* ["x",null,1.50]'],
    ['{"warnings":[{"toString":1}]}', '* {"toString":1}'],
  ])('the vault command shows entries of the refusal %s that are no texts as JSON', async (body, shown) => {
    answers = [{ status: 400, raw: body }]
    const { status, stderr } = await shell.run(['write', 'x', 'k=v'])
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(shown) })
  })

  it.each([
    ['list x', '{"data":{"keys":[{}]}}'],
    ['list -detailed x', '{"data":{"keys":[{}],"key_info":{"a":{"b":1}}}}'],
    ['path-help x', '{"help":{}}'],
    ['policy read p', '{"data":{"policy":{}}}'],
    ['policy list', '{"data":{"keys":[{}]}}'],
    ['token capabilities p', '{"data":{"capabilities":[{},{}]}}'],
    ['version-history', '{"data":{"keys":[{}]}}'],
    ['operator init', '{"keys":[{}],"keys_base64":[{}],"root_token":{}}'],
    ['operator rekey -nonce=n K', '{"started":true,"complete":true,"keys":[{}],"keys_base64":[{}]}'],
    ['status', '{"sealed":{},"n":{},"t":{},"version":{}}'],
    ['read x', '{"data":{"a":{}},"warnings":[{}],"lease_id":{},"lease_duration":{}}'],
    ['read x', '{"auth":{"client_token":{},"policies":[{}],"metadata":{"a":{}},"lease_duration":{}}}'],
    ['read x', '{"wrap_info":{"token":{},"ttl":{}}}'],
    ['read x', `{"data":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`],
  ])('the command "vault %s" takes the answer %.60s without an unexpected error', async (line, body) => {
    answers = [{ raw: body }, { raw: body }]
    const { status, stderr } = await shell.run(line.split(' '))
    expect({ status, stderr }).not.toMatchObject({ stderr: expect.stringMatching(/unexpected|primitive/) })
  })

  it('the vault command rejects a token with characters that no header can contain', async () => {
    const { status, stderr } = await shell.run(['read', 'x'], { env: { VAULT_TOKEN: 'a\nb' } })
    expect([status, stderr.trim(), seen]).toEqual([
      1,
      'the token contains characters that are not allowed in a header',
      [],
    ])
  })

  it('an error of the vault command names the namespace', async () => {
    answers = [{ status: 403, body: { errors: ['permission denied'] } }]
    const { stderr } = await shell.run(['read', '-namespace=/n1/', 'x'])
    expect(stderr).toContain('Namespace: n1/\nURL: GET ')
  })
})

describe('other answers', () => {
  it('the vault command follows one redirect, with query and body', async () => {
    const elsewhere = `${shell.env.VAULT_ADDR}/v1/y%20z?p=1`
    answers = [{ status: 307, headers: { location: elsewhere } }, DONE]
    await shell.ok(['write', 'x', 'k=v'])
    expect(sent()).toEqual(['PUT /v1/x {"k":"v"}', 'PUT /v1/y%20z?p=1 {"k":"v"}'])
  })

  it('the vault command rejects a redirect to another server and sends it nothing', async () => {
    answers = [{ status: 307, headers: { location: 'http://127.0.0.1:1/v1/x' } }]
    const { status, stderr } = await shell.run(['write', 'x', 'k=v'])
    expect({ status, requests: seen.length }).toEqual({ status: 2, requests: 1 })
    expect(stderr).toContain('redirect to http://127.0.0.1:1: tokens and request bodies are not sent to another server')
  })

  it('the vault command prints warnings of an answer on standard error', async () => {
    answers = [{ body: { request_id: 'r', data: null, warnings: ['mind the gap'] } }]
    const { status, stdout, stderr } = await shell.run(['write', '-f', 'x'])
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
    expect(stderr).toMatch(/^WARNING! .*\n\n {2}\* mind the gap\n/)
  })
})

describe('control characters of a server', () => {
  const evil = '\u001b]0;x\u0007\u009b2J\r\u202e'
  const shown = '\\u001b]0;x\\u0007\\u009b2J\\u000d\\u202e'
  const secret = { body: { request_id: 'r', data: { [evil]: evil, plain: `a\nb\tc` }, warnings: [evil] } }

  it('control characters of a server are shown and have no effect, in every format and in refusals', async () => {
    for (const args of [
      ['read', 'x'],
      ['read', '-format=json', 'x'],
      ['read', '-format=yaml', 'x'],
      ['list', 'x'],
    ]) {
      answers = [secret]
      const { stdout, stderr } = await shell.run(args)
      expect(stdout + stderr, args.join(' ')).not.toMatch(/[^\n\t\P{Cc}]|\u202e/u)
    }
    answers = [{ status: 400, body: { errors: [evil] } }]
    expect((await shell.run(['read', 'x'])).stderr).toContain(`* ${shown}`)
  })

  it('-field prints control characters of a server unchanged', async () => {
    answers = [{ body: { request_id: 'r', data: { k: evil } } }]
    expect(await shell.ok(['read', '-field=k', 'x'])).toBe(evil)
    answers = [{ body: { request_id: 'r', data: { k: evil } } }]
    expect((await shell.run(['read', '-field=k', 'x'], { isStdoutTty: true })).stdout).toBe(`${shown}\n`)
  })
})

describe('what a command prints', () => {
  it('the vault command wraps warnings at 78 columns', async () => {
    const words = Array.from({ length: 40 }, (_, index) => `word${index}`)
    answers = [{ body: { request_id: 'r', data: null, warnings: [words.join(' '), 'short\none'] } }]
    const { stderr } = await shell.run(['write', '-f', 'x'])
    expect(stderr).toMatch(/\n {2}\* word0 word1 .*\n {2}word\d+ /)
    expect(stderr).toContain('\n\n  * short one\n')
    expect(Math.max(...stderr.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(78)
  })

  it('raft snapshot save and restore print nothing', async () => {
    const file = path.join(shell.home, 'a.snap')
    answers = [{ body: 'bytes' }, DONE]
    expect(await shell.ok(['operator', 'raft', 'snapshot', 'save', file])).toBe('')
    expect(await shell.ok(['operator', 'raft', 'snapshot', 'restore', file])).toBe('')
    expect(seen[1]?.body).toBe('"bytes"')
  })

  it('version-history prints three columns', async () => {
    const info = { timestamp_installed: '2024-01-02T03:04:05Z', previous_version: null }
    const entries = {
      '1.9.0': { ...info, build_date: null },
      '1.11.0': { ...info, build_date: '2023-01-01T00:00:00Z' },
    }
    answers = [{ body: { request_id: 'r', data: { keys: Object.keys(entries), key_info: entries } } }]
    expect(await shell.ok(['version-history'])).toBe(
      [
        'Version    Installation Time       Build Date',
        '-------    -----------------       ----------',
        '1.9.0      2024-01-02T03:04:05Z    n/a',
        '1.11.0     2024-01-02T03:04:05Z    2023-01-01T00:00:00Z\n',
      ].join('\n'),
    )
  })

  it('raft autopilot state prints indented lines', async () => {
    const server = {
      id: 'n1',
      name: 'n1',
      address: 'a:1',
      status: 'leader',
      healthy: true,
      last_contact: '0s',
      last_term: 1,
    }
    const state = { healthy: true, failure_tolerance: 0, leader: 'n1', voters: ['n1'], servers: { n1: server } }
    answers = [{ body: { request_id: 'r', data: state } }]
    expect((await shell.ok(['operator', 'raft', 'autopilot', 'state'])).split('\n')).toEqual([
      'Healthy:                         true',
      'Failure Tolerance:               0',
      'Leader:                          n1',
      'Voters:',
      '   n1',
      'Servers:',
      '   n1',
      '      Name:              n1',
      '      Address:           a:1',
      '      Status:            leader',
      '      Healthy:           true',
      '      Last Contact:      0s',
      '      Last Term:         1',
      '',
    ])
  })
})

describe('operator rekey', () => {
  const status = { nonce: 'n', started: true, t: 2, n: 3, progress: 1, required: 2, verification_required: false }

  it('operator rekey prints its progress', async () => {
    answers = [{ body: status }]
    expect(await shell.ok(['operator', 'rekey', '-status'])).toBe(
      [
        'Key                      Value',
        '---                      -----',
        'Nonce                    n',
        'Started                  true',
        'Rekey Progress           1/2',
        'New Shares               3',
        'New Threshold            2',
        'Verification Required    false\n',
      ].join('\n'),
    )
  })

  it('operator rekey prints the new keys in lines for scripts, with their PGP fingerprints', async () => {
    answers = [{ body: status }, { body: { nonce: 'n', complete: true, keys: ['0a'], keys_base64: ['Cg=='] } }]
    expect(await shell.ok(['operator', 'rekey', 'K'])).toMatch(/^Key 1: Cg==\n\nOperation nonce: n\n\nSuccess! /)
    const sealed = { nonce: 'n', complete: true, keys_base64: ['Cg=='], pgp_fingerprints: ['f'], backup: true }
    answers = [{ body: status }, { body: { ...sealed, verification_required: true, verification_nonce: 'v' } }]
    const shown = await shell.ok(['operator', 'rekey', 'K'])
    expect(shown).toMatch(/^Key 1 fingerprint: f; value: Cg==\n/)
    expect(shown).toContain('-backup-retrieve')
    expect(shown).toContain('Verification nonce: v')
  })

  it('operator rekey prompts for a missing share, and names the operation', async () => {
    answers = [{ body: status }, { body: { ...status, progress: 0 } }]
    await shell.ok(['operator', 'rekey'], { answers: ['K'] })
    expect(seen[1]?.body).toBe('{"key":"K","nonce":"n"}')
  })

  it('operator rekey warns that keys without -pgp-keys are shown only once', async () => {
    answers = [{ body: status }]
    const { stderr } = await shell.run(['operator', 'rekey', '-init'])
    expect(stderr).toMatch(/^WARNING! .*-pgp-keys/s)
  })
})

describe('an error that a flag would resolve', () => {
  const refusal = { status: 400, body: { errors: ['path disabled in replication DR secondary mode'] } }

  it.each([
    ['operator raft list-peers', 'Specify -dr-token=TOKEN with an operation token'],
    ['operator raft autopilot state', 'Specify -dr-token=TOKEN with an operation token'],
    ['license get', 'Specify -dr-token=TOKEN with an operation token'],
    ['operator generate-root -init', 'Specify -dr-token to generate its operation token'],
  ])('an error on a DR secondary suggests -dr-token: vault %s', async (line, text) => {
    answers = [refusal]
    const { status, stderr } = await shell.run(line.split(' '))
    expect(status).toBe(2)
    expect(stderr).toContain('* path disabled in replication DR secondary mode\n\n')
    expect(stderr.replaceAll('\n', ' ')).toContain(text)
  })

  it('an error suggests -dr-token only if the flag is missing and would help', async () => {
    for (const line of ['operator raft list-peers -dr-token=o', 'read a']) {
      answers = [refusal]
      expect((await shell.run(line.split(' '))).stderr).not.toContain('-dr-token')
    }
    answers = [{ status: 403, body: { errors: ['permission denied'] } }]
    expect((await shell.run(['operator', 'raft', 'list-peers'])).stderr).not.toContain('-dr-token')
  })
})

describe('a misspelled command', () => {
  it.each([
    ['staus', '"status"'],
    ['stauts', '"status"'],
    ['opertor init', '"operator init"'],
    ['operator unsael', '"operator unseal"'],
    ['kv gte secret/a', '"kv get"'],
    ['kv metdata get a', '"kv metadata get"'],
    ['operator raft lst-peers', '"operator raft list-peers"'],
    ['servr -dev', '"server"'],
    ['polcy', '"policy"'],
    ['kvv', '"kv"'],
  ])('vault %s gets a suggestion: %s', async (line, meant) => {
    const { status, stderr } = await shell.run(line.split(' '))
    expect(status).toBe(1)
    expect(stderr).toContain(`Did you mean ${meant}`)
  })

  it('a misspelled vault command without a similar one gets no suggestion', async () => {
    for (const line of ['zzzzzz', 'operator frobnicate']) {
      expect((await shell.run(line.split(' '))).stderr).not.toContain('Did you mean')
    }
  })
})

describe('operator init', () => {
  it('operator init prints keys and token in lines for scripts', async () => {
    answers = [SEAL, { body: { keys: ['0a'], keys_base64: ['Cg=='], root_token: 'hvs.r' } }]
    const shown = await shell.ok(['operator', 'init', '-n=1', '-t=1'])
    expect(shown).toMatch(/^Unseal Key 1: Cg==\n\nInitial Root Token: hvs\.r\n\n/)
  })

  it('operator init prints recovery keys for auto-unseal', async () => {
    const keys = { keys: [], keys_base64: [], recovery_keys: ['0a'], recovery_keys_base64: ['Cg=='] }
    answers = [{ body: { recovery_seal: true } }, { body: { ...keys, root_token: 'hvs.r' } }]
    const shown = await shell.ok(['operator', 'init'])
    expect(shown).toMatch(/^Recovery Key 1: Cg==\n\nInitial Root Token: hvs\.r\n\n/)
  })

  it('operator init reads public keys from binary or armored files', async () => {
    const { publicKey } = await openpgp.generateKey({ userIDs: [{ name: 'a' }], format: 'object' })
    const binary = Buffer.from(publicKey.write())
    const files = { armoured: publicKey.armor(), binary, base64: binary.toString('base64') }
    for (const [name, content] of Object.entries(files)) writeFileSync(path.join(shell.home, name), content)
    const listed = Object.keys(files).map((name) => path.join(shell.home, name))
    answers = [SEAL, INIT]
    await shell.ok(['operator', 'init', `-pgp-keys=${listed.join(',')}`, '-root-token-pgp-key', listed[0] ?? ''])
    const wanted = binary.toString('base64')
    expect(JSON.parse(seen[1]?.body ?? '')).toMatchObject({
      pgp_keys: [wanted, wanted, wanted],
      root_token_pgp_key: wanted,
    })
  })
})

describe('headers of the caller', () => {
  it('the curl command quotes every part of a header', async () => {
    const headers = ['$x=1', 'a`id`=1', "a'b=1", 'X-A=$(id) `id` "x" !! \\', 'X-B=plain, 1'].map(
      (one) => `-header=${one}`,
    )
    expect(await shell.ok(['read', ...headers, '-output-curl-string', 'x'])).toBe(
      `curl -H '$x: 1' -H 'X-A: $(id) \`id\` "x" !! \\' -H "X-B: plain, 1" -H "X-Vault-Request: true" ` +
        `-H "X-Vault-Token: $(vault print token)" -H 'a'"'"'b: 1' -H 'a\`id\`: 1' ${shell.env.VAULT_ADDR}/v1/x\n`,
    )
  })

  it.each(['$(touch /tmp/x)=x', 'a b=x', 'a:b=x', 'é=x', '@file=x', '=x', 'X-A=a\nb', 'X-A=\u{1f600}'])(
    'the vault command rejects the header %j, which HTTP does not allow',
    async (header) => {
      for (const preview of [[], ['-output-curl-string']]) {
        const { status, stdout, stderr } = await shell.run(['read', `-header=${header}`, ...preview, 'x'])
        expect({ status, stdout, requests: seen.length }).toEqual({ status: 1, stdout: '', requests: 0 })
        expect(stderr).toMatch(
          /is not a valid header name|contains characters that are not allowed in a header|-header/,
        )
      }
    },
  )
})

describe('an unreachable server', () => {
  it('a vault command without a reachable server exits with 2, and status with 1', async () => {
    const port = (server.address() as AddressInfo).port
    await new Promise((resolve) => server.close(resolve))
    const read = await shell.run(['read', 'x'])
    expect(read.status).toBe(2)
    expect(read.stderr).toBe(
      `Error reading x: Get "http://127.0.0.1:${port}/v1/x": dial tcp 127.0.0.1:${port}: connect: connection refused\n`,
    )
    expect((await shell.run(['status'])).status).toBe(1)
    server.listen(0)
  })
})

describe('the caller’s own mistakes end with 1 and ask nothing', () => {
  it.each([
    ['read', 'Not enough arguments'],
    ['list a b', 'Too many arguments'],
    ['write a', 'Must supply data or use -force'],
    ['write a word', 'not of the form key=value'],
    ['read -bogus a', 'not defined: -bogus'],
    ['read -format=xml a', 'Invalid output format: xml'],
    ['read -address=nowhere a', 'is not an http:// or https:// URL'],
    ['read -ca-cert=/nowhere/ca.pem a', 'cannot be read'],
    ['kv undelete secret/a', 'No versions provided'],
    ['kv rollback secret/a', '-version is required'],
    ['lease revoke -force a', '-prefix'],
    ['token revoke', 'Not enough arguments'],
    ['token revoke -self x', '-self'],
    ['login -method=approle', 'vault write auth/approle/login'],
    ['policy write n /nowhere.hcl', 'Error opening policy file'],
    ['operator generate-root -decode=AA', 'Missing otp'],
    ['operator generate-root -recovery-token -init', 'Recovery tokens are not supported'],
    ['operator unseal -non-interactive', '-non-interactive disables the prompt'],
    ['agent -config=x', 'use the agent of Vault'],
    ['plugin list', 'vault plugin is not supported: auth methods and secrets engines are built in'],
    ['plugin info -version=1 auth approle', 'built in'],
    ['-format=json plugin list', 'built in'],
    ['namespace lock ns1', 'vault namespace lock is not supported'],
    ['namespace unlock -unlock-key=x ns1', 'vault namespace unlock is not supported'],
    ['operator raft autopilot set-config', 'specify at least one setting'],
    ['operator raft remove-peer', 'Not enough arguments'],
    ['operator rekey -target=moon', 'use barrier or recovery'],
    ['kv bogus', 'Usage: vault kv'],
    ['bogus', 'There is no command "bogus"'],
  ])('vault %s', async (line, text) => {
    const { status, stdout, stderr } = await shell.run(line.split(' '))
    expect({ status, stdout, requests: seen.length }).toEqual({ status: 1, stdout: '', requests: 0 })
    expect(stderr).toContain(text)
  })
})

describe('help', () => {
  it.each([['-h'], ['kv -help'], ['kv get --help'], ['operator generate-root -h']])('vault %s: help', async (line) => {
    const { status, stdout } = await shell.run(line.split(' '))
    expect(status).toBe(0)
    expect(stdout).toMatch(/^Usage: vault /)
  })

  it('the version command of vault prints the reported version as its second word', async () => {
    for (const word of ['version', '-v', '-version', '--version']) {
      expect(await shell.ok([word])).toMatch(/^Vault v1\.20\.4\+ent \(/)
    }
  })
})
