/** The life cycle of a server from its first status to its seal, with the commands of operators. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { openShell, type Shell } from '../unit/cli/vault-io.js'

let server: ServerProcess
let shell: Shell
let keys: string[]
let rootToken: string

const words = (line: string) => line.split(' ')
const ok = (line: string, stdin = '') => shell.ok(words(line), { stdin })
const run = (line: string, env: Record<string, string> = {}) => shell.run(words(line), { env })
const json = async (line: string) => (await shell.json(words(line))) as Record<string, unknown>
/** Returns the value of a row in a two-column table. */
const cell = (table: string, key: string): string | undefined =>
  table
    .split('\n')
    .find((line) => line.startsWith(`${key} `))
    ?.slice(key.length)
    .trim()

beforeAll(async () => {
  server = await startServerProcess()
  shell = openShell({ VAULT_ADDR: server.address })
})

afterAll(async () => {
  shell[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

describe('a new server', () => {
  it('a new server reports sealed and not initialized', async () => {
    const { status, stdout } = await run('status')
    expect(status).toBe(2)
    expect(cell(stdout, 'Initialized')).toBe('false')
    expect(cell(stdout, 'Sealed')).toBe('true')
    const check = await run('operator init -status')
    expect([check.status, check.stderr]).toEqual([2, 'Vault is not initialized\n'])
  })

  it('operator init makes five shares with a threshold of three', async () => {
    const made = await json('operator init')
    expect(Object.keys(made)).toEqual([
      'unseal_keys_b64',
      'unseal_keys_hex',
      'unseal_shares',
      'unseal_threshold',
      'recovery_keys_b64',
      'recovery_keys_hex',
      'recovery_keys_shares',
      'recovery_keys_threshold',
      'root_token',
    ])
    expect(made).toMatchObject({ unseal_shares: 5, unseal_threshold: 3, recovery_keys_b64: [] })
    keys = made.unseal_keys_b64 as string[]
    rootToken = String(made.root_token)
    expect(keys).toHaveLength(5)
    expect(await ok('operator init -status')).toBe('Vault is initialized\n')
    const again = await run('operator init')
    expect(again.status).toBe(2)
    expect(again.stderr).toContain('Error initializing: Error making API request.')
    expect(again.stderr).toContain('Code: 400. Errors:\n\n* Vault is already initialized')
  })

  it('operator unseal takes shares as argument, from standard input and from a prompt', async () => {
    const [first = '', second = '', third = ''] = keys
    expect(cell(await ok(`operator unseal ${first}`), 'Unseal Progress')).toBe('1/3')
    expect(cell(await ok('operator unseal -reset'), 'Unseal Progress')).toBe('0/3')
    await ok(`operator unseal ${first}`)
    await ok('operator unseal -', `${second}\n`)
    const last = await shell.ok(['operator', 'unseal', '-format=json'], { answers: [third] })
    expect(JSON.parse(last)).toMatchObject({ sealed: false, t: 3, n: 5, ha_enabled: true, is_self: true })
    const status = await ok('status')
    expect(cell(status, 'HA Mode')).toBe('active')
    expect(cell(status, 'Storage Type')).toBe('raft')
  })
})

describe('logging in', () => {
  it('vault login rejects a missing and a wrong token', async () => {
    const { status, stderr } = await run('secrets list')
    expect(status).toBe(2)
    expect(stderr).toContain(`URL: GET ${server.address}/v1/sys/mounts\nCode: 403. Errors:\n\n* permission denied`)
    expect((await run('login nothing')).status).toBe(2)
    expect((await run('token lookup')).status).toBe(2)
  })

  it('only vault login stores the token, readable by its owner only', async () => {
    const shown = await ok(`login ${rootToken}`)
    expect(shown).toContain('Success! You are now authenticated.')
    expect(cell(shown, 'token')).toBe(rootToken)
    expect(cell(shown, 'token_duration')).toBe('∞')
    expect(cell(shown, 'token_policies')).toBe('["root"]')
    const file = path.join(shell.home, '.vault-token')
    expect(readFileSync(file, 'utf8')).toBe(rootToken)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await ok('print token')).toBe(`${rootToken}\n`)
    expect((await run('print token', { VAULT_TOKEN: 'other' })).stdout).toBe('other\n')
  })

  it('vault login accepts user and password, a typed secret, or the login path of another method', async () => {
    await ok('auth enable userpass')
    await ok('write auth/userpass/users/ann password=word policies=default')
    const first = await shell.ok(words('login -method=userpass -no-store -field=token username=ann'), {
      answers: ['word'],
    })
    expect(first).toMatch(/^hvs\./)
    const only = await ok('login -method=userpass -token-only username=ann password=word')
    expect(only).toMatch(/^hvs\.\S+$/)
    expect(await ok('print token')).toBe(`${rootToken}\n`)
    expect((await run('login -method=userpass username=ann password=wrong')).status).toBe(2)
    await ok('auth enable approle')
    await ok('write auth/approle/role/app token_policies=default token_ttl=20m')
    const roleId = await ok('read -field=role_id auth/approle/role/app/role-id')
    const secretId = await ok('write -f -field=secret_id auth/approle/role/app/secret-id')
    const login = await ok(`write auth/approle/login role_id=${roleId} secret_id=${secretId}`)
    expect(cell(login, 'token_duration')).toBe('20m')
    expect(cell(login, 'token_meta_role_name')).toBe('app')
  })
})

describe('policies and tokens', () => {
  const POLICY = 'path "secret/data/team/*" {\n  capabilities = ["create", "read"]\n}\n'

  it('vault policy write reads standard input and a file', async () => {
    expect(await ok('policy write Team -', POLICY)).toBe('Success! Uploaded policy: team\n')
    expect(await ok('policy read team')).toBe(POLICY)
    expect((await shell.json(['policy', 'list'])) as string[]).toEqual(['default', 'root', 'team'])
    expect(await ok('policy list')).toBe('default\nroot\nteam\n')
    const file = path.join(shell.home, 'p.hcl')
    writeFileSync(file, 'path "x" {\ncapabilities=["read"]\n}')
    expect(await ok(`policy fmt ${file}`)).toContain('Success! Formatted policy')
    expect(readFileSync(file, 'utf8')).toBe('path "x" {\n  capabilities = ["read"]\n}\n')
    await ok(`policy write x ${file}`)
    await ok('policy delete x')
    const gone = await run('policy read x')
    expect([gone.status, gone.stderr]).toEqual([2, 'No policy named: x\n'])
    const bad = await shell.run(words('policy write bad -'), { stdin: 'path "a" { what = 1 }' })
    expect(bad.status).toBe(2)
    expect(bad.stderr).toContain('failed to parse policy')
  })

  it('vault creates batch tokens with a token role, and shows the capabilities of a token', async () => {
    const role = 'allowed_policies=team orphan=true renewable=false token_type=batch'
    expect(await ok(`write auth/token/roles/dr ${role}`)).toBe('Success! Data written to: auth/token/roles/dr\n')
    const batch = await ok('token create -role=dr -policy=team -ttl=8h -field=token')
    expect(batch).toMatch(/^hvb\./)
    expect(await ok(`token capabilities ${batch} secret/data/team/a`)).toBe('create, read\n')
    const looked = await json(`token lookup ${batch}`)
    expect(looked.data).toMatchObject({ type: 'batch', orphan: true })
  })

  it('vault token creates, looks up, renews and revokes tokens', async () => {
    const made = await json('token create -policy=team -ttl=1h -period=2h -use-limit=0 -metadata=a=b -display-name=x')
    const { client_token: token, accessor } = made.auth as Record<string, string>
    expect(made.auth).toMatchObject({ policies: ['default', 'team'], lease_duration: 7200, metadata: { a: 'b' } })
    expect(await ok(`token lookup -field=display_name ${token}`)).toBe('token-x')
    expect(cell(await ok(`token lookup -accessor ${accessor}`), 'period')).toBe('2h')
    expect(cell(await ok(`token renew ${token}`), 'token_duration')).toBe('2h')
    expect((await run('token renew', { VAULT_TOKEN: token ?? '' })).status).toBe(0)
    expect(await ok(`token revoke -accessor ${accessor}`)).toBe('Success! Revoked token (if it existed)\n')
    expect((await run(`token lookup ${token}`)).status).toBe(2)
    const orphan = await ok('token create -orphan -field=token')
    expect((await run('token revoke -self', { VAULT_TOKEN: orphan })).status).toBe(0)
  })
})

describe('secrets', () => {
  it('vault secrets enables, tunes, moves, lists and disables engines', async () => {
    expect(await ok('secrets enable -path=secret -version=2 -description=team kv')).toBe(
      'Success! Enabled the kv secrets engine at: secret/\n',
    )
    await ok('secrets enable -path=old -default-lease-ttl=30m kv')
    await ok('secrets tune -max-lease-ttl=2h old')
    const mounts = (await json('secrets list')) as Record<string, { config: unknown; options: unknown }>
    expect(mounts['old/']?.config).toMatchObject({ default_lease_ttl: 1800, max_lease_ttl: 7200 })
    expect(mounts['secret/']?.options).toEqual({ version: '2' })
    expect(await ok('secrets move old new')).toContain('Success! Finished moving secrets engine old/ to new/')
    expect(cell(await ok('secrets list'), 'new/')).toMatch(/^kv +kv_[0-9a-f]{8} +n\/a$/)
    expect(await ok('secrets list -detailed')).toMatch(/^secret\/ .*map\[version:2\]/m)
    expect(await ok('secrets disable new')).toContain('Success! Disabled the secrets engine (if it existed) at: new/')
    const taken = await run('secrets enable -path=secret kv')
    expect(taken.stderr).toContain('* path is already in use at secret/')
  })

  it('vault auth enables, tunes, lists and disables methods', async () => {
    await ok('auth enable -path=team -token-type=batch -description=x approle')
    await ok('auth tune -default-lease-ttl=10m -user-lockout-threshold=3 team')
    const tuned = await json('read sys/auth/team/tune')
    expect(tuned.data).toMatchObject({ default_lease_ttl: 600, token_type: 'batch' })
    expect(await ok('auth list')).toMatch(/^team\/ +approle +auth_approle_[0-9a-f]{8} +x +n\/a$/m)
    expect(await ok('auth move team crew')).toContain('Success! Finished moving auth method team/ to crew/')
    await ok('auth disable crew')
    expect(Object.keys(await json('auth list'))).not.toContain('crew/')
  })
})

describe('kv', () => {
  it('vault kv writes and reads versions', async () => {
    const put = await shell.ok(words('kv put secret/team/a user=ann pin=-'), { stdin: '12' })
    expect(put).toMatch(/^===* Secret Path ===*\nsecret\/data\/team\/a\n\n======= Metadata =======\nKey {16}Value\n/)
    expect(cell(put, 'custom_metadata')).toBe('<nil>')
    expect(cell(put, 'deletion_time')).toBe('n/a')
    const got = await ok('kv get secret/team/a')
    expect(got).toContain('\n\n==== Data ====\nKey     Value\n---     -----\npin     12\nuser    ann\n')
    expect(await ok('kv get -field=user -mount=secret team/a')).toBe('ann')
    expect(await shell.ok(words('kv get -field=user secret/team/a'), { isStdoutTty: true })).toBe('ann\n')
    expect((await run('kv get -field=nothing secret/team/a')).status).toBe(1)
    const read = await json('kv get secret/team/a')
    expect(Object.keys(read).slice(0, 6)).toEqual([
      'request_id',
      'lease_id',
      'lease_duration',
      'renewable',
      'data',
      'warnings',
    ])
    expect(read.data).toMatchObject({ data: { pin: '12', user: 'ann' }, metadata: { version: 1 } })
    expect(await ok('kv list secret')).toBe('Keys\n----\nteam/\n')
    expect(await shell.json(words('kv list secret/team'))).toEqual(['a'])
  })

  it('vault kv patches, rolls back, deletes, undeletes and destroys', async () => {
    await ok('kv patch secret/team/a pin=13')
    await ok('kv patch -method=rw -remove-data=user secret/team/a pin=14')
    expect((await json('kv get secret/team/a')).data).toMatchObject({ data: { pin: '14' }, metadata: { version: 3 } })
    const unchecked = await run('kv put -cas=1 secret/team/a pin=15')
    expect(unchecked.stderr).toContain('* check-and-set parameter did not match the current version')
    await ok('kv rollback -version=1 secret/team/a')
    expect(await ok('kv get -field=user secret/team/a')).toBe('ann')
    expect(await ok('kv delete secret/team/a')).toBe('Success! Data deleted (if it existed) at: secret/data/team/a\n')
    const deleted = await ok('kv get secret/team/a')
    expect(deleted).not.toContain('== Data ==')
    expect((await run('kv get -field=user secret/team/a')).stderr).toBe('No data found at secret/data/team/a\n')
    expect(await ok('kv undelete -versions=4 secret/team/a')).toBe('Success! Data written to: secret/undelete/team/a\n')
    await ok('kv destroy -versions=1,2 secret/team/a')
    expect(cell(await ok('kv get -version=1 secret/team/a'), 'destroyed')).toBe('true')
    const none = await run('kv get secret/team/none')
    expect([none.status, none.stderr]).toEqual([2, 'No value found at secret/data/team/none\n'])
  })

  it('vault kv metadata stores metadata', async () => {
    await ok('kv metadata put -max-versions=9 -delete-version-after=1h -custom-metadata=owner=ann secret/team/a')
    await ok('kv metadata patch -custom-metadata=kind=x -remove-custom-metadata=owner secret/team/a')
    const shown = await ok('kv metadata get secret/team/a')
    expect(cell(shown, 'custom_metadata')).toBe('map[kind:x]')
    expect(cell(shown, 'max_versions')).toBe('9')
    expect(shown).toContain('\n\n====== Version 4 ======\n')
    await ok('kv metadata delete secret/team/a')
    expect((await run('kv list secret')).status).toBe(2)
  })

  it('vault kv supports version 1, and upgrades it to version 2', async () => {
    await ok('secrets enable -path=plain -version=1 kv')
    expect(await ok('kv put plain/a b=c')).toBe('Success! Data written to: plain/a\n')
    expect(cell(await ok('kv get plain/a'), 'refresh_interval')).toBe('768h')
    expect(await ok('kv get -field=b plain/a')).toBe('c')
    expect((await run('kv patch plain/a b=d')).status).toBe(1)
    expect(await ok('list plain')).toBe('Keys\n----\na\n')
    await ok('kv delete plain/a')
    expect((await run('kv get plain/a')).stderr).toBe('No value found at plain/a\n')
    await ok('kv put plain/a b=c')
    await ok('kv enable-versioning plain')
  })

  it('vault kv keeps every digit of a number', async () => {
    await ok('secrets enable -path=numbers kv')
    await shell.ok(words('write numbers/a -'), { stdin: '{"n": 12345678901234567890, "f": 1.50}' })
    const text = await ok('read -format=json numbers/a')
    expect(text).toContain('"n": 12345678901234567890')
    expect(text).toContain('"f": 1.50')
    expect(await ok('read -field=n numbers/a')).toBe('12345678901234567890')
  })
})

describe('formats', () => {
  it('the output formats are table, json, yaml and raw', async () => {
    await ok('write cubbyhole/f b=2 a=1')
    expect(await ok('read cubbyhole/f')).toBe('Key    Value\n---    -----\na      1\nb      2\n')
    expect((await json('read cubbyhole/f')).data).toEqual({ a: '1', b: '2' })
    expect(await ok('read -format=yaml cubbyhole/f')).toContain('data:\n  a: "1"\n  b: "2"\n')
    expect(JSON.parse(await ok('read -format=raw cubbyhole/f'))).toMatchObject({ data: { a: '1', b: '2' } })
    expect((await run('policy list -format=raw')).status).toBe(1)
    const missing = await shell.run(words('list -format=json cubbyhole/none'))
    expect(missing).toEqual({ status: 2, stdout: '{}\n', stderr: '' })
  })

  it('the output can be a curl command or a policy, without a request', async () => {
    const curl = await shell.ok(['kv', 'put', '-output-curl-string', 'secret/c', "a=it's"])
    expect(curl).toBe(
      `curl -X PUT -H "X-Vault-Request: true" -H "X-Vault-Token: $(vault print token)" -d '{"data":{"a":"it'"'"'s"},"options":{}}' ${server.address}/v1/secret/data/c\n`,
    )
    expect(await ok('list -output-curl-string -ns=n1 secret/metadata')).toBe(
      `curl -H "X-Vault-Namespace: n1/" -H "X-Vault-Request: true" -H "X-Vault-Token: $(vault print token)" ${server.address}/v1/secret/metadata?list=true\n`,
    )
    expect(await ok('list -output-policy secret/metadata')).toBe(
      'path "secret/metadata" {\n  capabilities = ["list"]\n}\n',
    )
    expect((await run('kv get secret/c')).status).toBe(2)
  })
})

describe('wrapping', () => {
  it('vault unwrap returns a wrapped response exactly once', async () => {
    await ok('kv put secret/w a=1')
    const wrapped = await ok('kv get -wrap-ttl=60s secret/w')
    expect(cell(wrapped, 'wrapping_token_ttl:')).toBe('1m')
    const token = cell(wrapped, 'wrapping_token:') ?? ''
    expect((await json(`unwrap ${token}`)).data).toMatchObject({ data: { a: '1' } })
    expect((await run(`unwrap ${token}`)).stderr).toContain('* wrapping token is not valid or does not exist')
    const alone = await ok('write -field=wrapping_token sys/wrapping/wrap x=y')
    expect((await run('unwrap -field=x', { VAULT_TOKEN: alone })).stdout).toBe('y')
  })
})

describe('generate-root', () => {
  it('operator generate-root creates a root token from three shares, without a token', async () => {
    const nobody = { VAULT_TOKEN: 'nobody' }
    const generate = async (...args: string[]) => {
      const result = await shell.run(['operator', 'generate-root', '-format=json', ...args], { env: nobody })
      return JSON.parse(result.stdout) as Record<string, unknown>
    }
    expect(await generate('-status')).toMatchObject({ started: false, required: 3, otp_length: 28 })
    const { otp } = await generate('-generate-otp')
    expect(otp).toMatch(/^[0-9A-Za-z]{28}$/)
    const { nonce } = await generate('-init', `-otp=${otp}`)
    expect(await generate('-nonce', String(nonce), keys[0] ?? '')).toMatchObject({ progress: 1, complete: false })
    await generate('-nonce', String(nonce), keys[1] ?? '')
    const done = await generate('-nonce', String(nonce), keys[4] ?? '')
    expect(done).toMatchObject({ progress: 3, required: 3, complete: true })
    const encoded = String(done.encoded_token)
    const { token } = await generate('-decode', encoded, '-otp', String(otp))
    const alone = await shell.run(['operator', 'generate-root', `-decode=${encoded}`, `-otp=${otp}`], { env: nobody })
    expect(alone).toMatchObject({ status: 0, stdout: token, stderr: '' })
    expect((await run('token lookup', { VAULT_TOKEN: String(token) })).status).toBe(0)
  })

  it('operator generate-root shows the generated OTP, and can be canceled', async () => {
    const started = await ok('operator generate-root -init')
    expect(cell(started, 'OTP')).toMatch(/^[0-9A-Za-z]{28}$/)
    expect(cell(started, 'Progress')).toBe('0/3')
    expect((await run('operator generate-root -init')).stderr).toContain('* root generation already in progress')
    expect(await ok('operator generate-root -cancel')).toContain('Success!')
    expect(cell(await ok('operator generate-root -status'), 'Started')).toBe('false')
  })
})

describe('leases, audit devices and namespaces', () => {
  it('vault lease looks up and revokes the leases of logins', async () => {
    const login = () => shell.ok(words('login -method=userpass -token-only username=ann password=word'))
    const token = await login()
    const [lease] = (await shell.json(words('list sys/leases/lookup/auth/userpass/login/ann'))) as string[]
    const id = `auth/userpass/login/ann/${lease}`
    expect(cell(await ok(`lease lookup ${id}`), 'id')).toBe(id)
    expect((await run(`lease renew ${id}`)).stderr).toContain('tokens cannot be renewed through this endpoint')
    expect(await ok('lease revoke -prefix -sync auth/userpass/login')).toContain('Success! Revoked any leases')
    expect((await run('token lookup', { VAULT_TOKEN: token })).status).toBe(2)
  })

  it('vault audit enables a file device', async () => {
    const none = await run('audit list')
    expect([none.status, none.stderr]).toEqual([2, 'No audit devices are enabled.\n'])
    const file = path.join(shell.home, 'audit.log')
    expect(await ok(`audit enable -description=d file file_path=${file}`)).toBe(
      'Success! Enabled the file audit device at: file/\n',
    )
    expect(await ok('audit list')).toBe(
      'Path     Type    Description\n----     ----    -----------\nfile/    file    d\n',
    )
    expect(await ok('audit list -detailed')).toContain(`file_path=${file}`)
    await ok('audit disable file')
    expect(readFileSync(file, 'utf8')).toContain('"path":"sys/audit"')
  })

  it('vault namespace creates namespaces with their own mounts', async () => {
    expect(cell(await ok('namespace create -custom-metadata=a=b team'), 'path')).toBe('team/')
    await ok('secrets enable -ns=team -path=inner kv')
    expect(Object.keys(await json('secrets list'))).not.toContain('inner/')
    await shell.ok(words('kv put inner/x a=b'), { env: { VAULT_NAMESPACE: 'team/' } })
    expect(await ok('kv get -namespace=team -field=a inner/x')).toBe('b')
    expect(await ok('namespace list')).toBe('Keys\n----\nteam/\n')
    expect(cell(await ok('namespace lookup team'), 'custom_metadata')).toBe('map[a:b]')
    await ok('namespace delete team')
    expect((await run('namespace lookup team')).status).toBe(2)
  })
})

describe('the operator', () => {
  it('operator commands show members, keys and storage', async () => {
    expect(await ok('operator members')).toMatch(/^Host Name {4,}API Address {4,}Cluster Address/)
    expect(cell(await ok('operator key-status'), 'Key Term')).toBe('1')
    expect(cell(await ok('operator rotate'), 'Key Term')).toBe('2')
    expect(await ok('operator raft list-peers')).toMatch(/\nA {3,}127\.0\.0\.1:\d+ +leader +true\n/)
    expect(cell(await ok('operator raft autopilot state'), 'Healthy:')).toBe('true')
    expect((await run('operator raft join http://127.0.0.1:1')).stderr).toContain('already belongs to a cluster')
    expect(await ok('operator step-down')).toBe(`Success! Stepped down: ${server.address}\n`)
  })

  it('operator raft snapshot saves and restores a snapshot', async () => {
    await ok('kv put secret/snap a=before')
    const file = path.join(shell.home, 'raft.snap')
    await ok(`operator raft snapshot save ${file}`)
    await ok('kv put secret/snap a=after')
    await ok(`operator raft snapshot restore ${file}`)
    await expect.poll(async () => (await run('kv get -field=a secret/snap')).stdout, { timeout: 90_000 }).toBe('before')
  })

  it('operator seal seals the server', async () => {
    expect(await ok('operator seal')).toBe('Success! Vault is sealed.\n')
    const { status, stdout } = await run('status')
    expect([status, cell(stdout, 'Sealed')]).toEqual([2, 'true'])
    const read = await run('kv get secret/snap')
    expect(read.status).toBe(2)
    expect(read.stderr).toContain('Code: 503. Errors:\n\n* Vault is sealed')
    expect(shell.waits.length).toBeGreaterThanOrEqual(2)
  })
})
