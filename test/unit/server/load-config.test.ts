import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseCidrOrAddress } from '../../../src/base/cidr.js'
import { loadServerConfig } from '../../../src/server/config/server-config.js'

const directory = mkdtempSync(path.join(tmpdir(), 'understudy-config-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let made = 0
const file = (text: string, extension = 'hcl'): string => {
  const name = path.join(directory, `${++made}.${extension}`)
  writeFileSync(name, text)
  return name
}
const load = (text: string, env: Record<string, string> = {}, ...flags: string[]) => {
  const name = file(text)
  const loaded = loadServerConfig([`-config=${name}`, ...flags], env)
  const where = (list: typeof loaded.problems) =>
    list.map(({ origin, text: reason }) => `${origin.replace(name, 'FILE')}: ${reason}`)
  return { ...loaded, name, problemTexts: where(loaded.problems), warningTexts: where(loaded.warnings) }
}

const GOOD = `
listener "tcp" {
  address = "127.0.0.1:9000"
  tls_disable = 1
}
storage "raft" {
  path = "/data"
  node_id = "n1"
}
`

describe('unknown keys', () => {
  it('unknown keys cause a warning with file and line at any position, and are not fatal', () => {
    const { config, warningTexts } = load(
      `${GOOD}surprise = 1\nreplication {\n  odd = true\n}\nunderstudy {\n  odder = 2\n}\n`,
    )
    expect(config).toBeDefined()
    expect(warningTexts).toEqual([
      'FILE:10: unknown or unsupported field surprise found in configuration',
      'FILE:12: unknown or unsupported field odd found in configuration',
      'FILE:15: unknown or unsupported field odder found in configuration',
    ])
  })
})

describe('keys of the reference that have no effect here', () => {
  it('keys of the reference without effect are accepted without a warning', () => {
    const { config, warningTexts } = load(`
listener "tcp" {
  address = "127.0.0.1:9000"
  tls_disable = 1
}
storage "raft" {
  path = "/data"
  autopilot_redundancy_zone = "eu-1"
  autopilot_upgrade_version = "1.20.4"
  raft_wal = true
  snapshot_interval = 120
}
replication {
  allow_forwarding_via_token = "new_token"
}
telemetry {
  unauthenticated_metrics_access = true
}
telemetry.unauthenticated_metrics_access = true
plugin_tmpdir = "/tmp"
remove_irrevocable_lease_after = "30d"
license_entitlement {
  edition_id = "x"
}
`)
    expect(warningTexts).toEqual([])
    expect(config).toMatchObject({ unauthenticatedMetrics: false })
  })
})

describe('a misspelt key', () => {
  it('a misspelt key gets a suggestion', () => {
    const { warningTexts } = load(`${GOOD}understudy {\n  heartbeat_intervall = "1s"\n}\n`)
    expect(warningTexts).toEqual([
      'FILE:11: unknown or unsupported field heartbeat_intervall found in configuration; did you mean heartbeat_interval?',
    ])
  })

  it('a misspelt block gets a suggestion', () => {
    expect(load(`${GOOD}listner "tcp" {\n}\n`).warningTexts).toEqual([
      'FILE:10: unknown or unsupported field listner found in configuration; did you mean listener?',
    ])
  })
})

describe('problems', () => {
  it('the configuration errors of an unparsable file mention nothing that is missing', () => {
    expect(load('storage "inmem" {').problemTexts).toEqual(['FILE:1: the bracket is not closed'])
  })

  it('all configuration errors are listed with their position', () => {
    const { config, problemTexts } = load(`
listener "tcp" {
  address = "nowhere"
  tls_disable = "maybe"
  max_request_size = "big"
}
storage "consul" {}
default_lease_ttl = "soon"
log_level = "loud"
understudy {
  license = "free"
  wal_retention_entries = 3
}
`)
    expect(config).toBeUndefined()
    expect(problemTexts).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^FILE:4: tls_disable must be true or false/),
        expect.stringMatching(/^FILE:5: max_request_size must be a whole number/),
        expect.stringMatching(/^FILE:7: storage "consul" is not supported: use one of raft, file/),
        expect.stringMatching(/^FILE:8: default_lease_ttl must be/),
        expect.stringMatching(/^FILE:9: unknown log level "loud"/),
        expect.stringMatching(/^FILE:11: license must be enterprise, plus or none/),
        expect.stringMatching(/^FILE:12: wal_retention_entries must be at least 16/),
      ]),
    )
  })

  it('a wrong block or a missing label is a configuration error', () => {
    const { config, problemTexts } = load(`
listener "tcp" {
  tls_disable = 1
}
listener {
  address = "127.0.0.1:9000"
}
storage = "raft"
understudy "mine" {
  lab_api = true
}
`)
    expect(config).toBeUndefined()
    expect(problemTexts).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^FILE:6: listener must be a block/),
        expect.stringMatching(/^FILE:8: storage must be a block/),
        expect.stringMatching(/^FILE:9: understudy takes no label/),
      ]),
    )
  })

  it('an unparsable text, a missing file and an unknown flag are configuration errors', () => {
    expect(load('listener "tcp" {\n  address = \n').problemTexts[0]).toMatch(/^FILE:\d+: /)
    expect(loadServerConfig(['-config=/nowhere.hcl'], {}).problems[0]).toMatchObject({ origin: '/nowhere.hcl' })
    expect(loadServerConfig([], {}).problems[0]?.text).toMatch(/at least one config path/)
    expect(loadServerConfig(['-nonsense', '-recovery'], {}).problems.map(({ text }) => text)).toEqual([
      'flag provided but not defined: -nonsense',
      expect.stringContaining('recovery mode is not supported'),
    ])
  })

  it.each([
    ['ha_storage "consul" {}', 'ha_storage is not supported'],
    ['seal "awskms" {}', 'seal "awskms" is not supported: use shamir, static or transit'],
    ...['transit', 'awskms', 'azurekeyvault', 'gcpckms', 'ocikms', 'pkcs11'].map((seal): [string, string] => [
      `seal "${seal}" {}`,
      'UNDERSTUDY_SIMULATE_SEALS=true in the environment, or simulate_seals = true in the stanza understudy',
    ]),
    ['seal "transit" {\n address = "http://a:1"\n}', 'seal "transit" needs token, key_name, mount_path. '],
    ['seal "transit" {\n address = "a:1"\n}', 'address must be a URL such as https://host:8200'],
    ['seal "static" {\n current_key = ""\n}', 'seal "static" needs current_key'],
    ['seal "static" {\n current_key = "c2hvcnQ="\n}', 'current_key: the key must be 32 bytes'],
    ['seal "static" {\n current_key = "env://NOT_SET"\n}', 'the variable NOT_SET is not set'],
    ['max_lease_ttl = "1h"\ndefault_lease_ttl = "2h"', 'default_lease_ttl is greater than max_lease_ttl'],
    [
      'listener "tcp" {\n tls_disable_client_certs = true\n tls_require_and_verify_client_cert = true\n}',
      "'tls_disable_client_certs' and 'tls_require_and_verify_client_cert' are mutually exclusive",
    ],
    [
      'listener "tcp" {\n tls_max_version = "tls11"\n}',
      'tls_max_version must be tls12 or tls13, and at least tls_min_version, not "tls11"',
    ],
    [
      'listener "tcp" {\n tls_min_version = "tls13"\n tls_max_version = "tls12"\n}',
      'at least tls_min_version, not "tls12"',
    ],
    ['listener "tcp" {\n tls_cipher_suites = "TLS_RC4"\n}', 'tls_cipher_suites: "TLS_RC4" is unknown'],
    [
      'listener "tcp" {\n proxy_protocol_behavior = "always"\n}',
      'FILE:11: proxy_protocol_behavior must be use_always, allow_authorized or deny_unauthorized, not "always"',
    ],
    ...['allow_authorized', 'deny_unauthorized'].flatMap((behavior) =>
      ['', ' proxy_protocol_authorized_addrs = ""\n', ' proxy_protocol_authorized_addrs = []\n'].map(
        (addresses): [string, string] => [
          `listener "tcp" {\n tls_disable = 1\n proxy_protocol_behavior = "${behavior}"\n${addresses}}`,
          `FILE:12: proxy_protocol_behavior "${behavior}" requires proxy_protocol_authorized_addrs`,
        ],
      ),
    ),
    ...['use_always', 'deny_unauthorized', ''].map((behavior): [string, string] => [
      `listener "tcp" {\n proxy_protocol_behavior = "${behavior}"\n proxy_protocol_authorized_addrs = ["10.0.0.1", "lb"]\n}`,
      'FILE:12: proxy_protocol_authorized_addrs: "lb" is not an address or a network such as 10.0.0.0/8',
    ]),
    ...['a b', 'team//child', 'team/sys', 'root/team'].map((path): [string, string] => [
      `listener "tcp" {\n tls_disable = 1\n chroot_namespace = "${path}"\n}`,
      `FILE:12: chroot_namespace: "${path}" is not the path of a namespace such as team/child`,
    ]),
    ['listener "unix" {}', 'listener "unix" is not supported: use listener "tcp"'],
    ['storage "etcd" {\n address = "10.0.0.1:2379,https://10.0.0.2:2379"\n}', 'all http or all https'],
    ['storage "etcd" {\n address = "nowhere"\n}', 'address must be a list of etcd'],
    ['storage "etcd" {\n etcd_api = "v2"\n}', 'etcd_api "v2" is not supported: use v3'],
    [
      'storage "etcd" {\n discovery_srv = "example.com"\n}',
      'discovery_srv is not supported; list the members as address',
    ],
    ['storage "etcd" {\n username = "root"\n}', 'username and password must be set together'],
    ['storage "etcd" {\n tls_ca_file = "ca.pem"\n}', 'need an address that begins with https://'],
    ['storage "etcd" {}\nunderstudy {\n leader_lease = "1s"\n}', 'leader_lease must be at least 2000ms'],
    [
      'storage "etcd" {}\nseal "awskms" {}\nunderstudy {\n simulate_seals = true\n}',
      'a simulated seal has its key in a local file, which the nodes of storage "etcd" cannot share',
    ],
  ])('a configuration error names the rejected setting: %s', (text, problem) => {
    expect(load(GOOD + text).problemTexts.join('\n')).toContain(problem)
  })
})

describe('the seal transit', () => {
  const STANZA = `${GOOD}seal "transit" {
  address = "https://u.example:8200/"
  token = "s.secret"
  key_name = "autounseal"
  mount_path = "transit/"
  disable_renewal = "true"
  tls_skip_verify = "false"
}
`

  it('the seal transit takes its stanza first and then environment variables', () => {
    const { config, warnings, settings } = load(STANZA, {
      VAULT_ADDR: 'http://other:1',
      VAULT_CACERT: '/ca.pem',
      VAULT_SKIP_VERIFY: 'true',
      VAULT_NAMESPACE: 'ns1',
    })
    expect(warnings).toEqual([])
    expect(config?.seal).toEqual({
      type: 'transit',
      name: 'transit',
      address: 'https://u.example:8200',
      token: 's.secret',
      keyName: 'autounseal',
      mountPath: 'transit/',
      namespace: 'ns1',
      disableRenewal: true,
      tls: { caFile: '/ca.pem', certFile: '', keyFile: '', serverName: '', skipVerify: false },
    })
    expect(JSON.stringify(settings)).not.toContain('s.secret')
  })

  it('the seal transit may be simulated or disabled', () => {
    const simulated = load(`${GOOD}seal "transit" {}`, { UNDERSTUDY_SIMULATE_SEALS: 'true' })
    expect(simulated.config?.seal).toMatchObject({ type: 'auto', name: 'transit', key: undefined })
    expect(load(`${GOOD}seal "transit" {\n disabled = true\n}`).config?.seal).toEqual({ type: 'shamir' })
  })
})

describe('retry_join', () => {
  const withJoin = (join: string) => load(`${GOOD.replace('node_id = "n1"', join)}api_addr = "http://127.0.0.1:9000"\n`)

  it('retry_join may name only this server itself', () => {
    expect(withJoin('retry_join {\n leader_api_addr = "http://127.0.0.1:9000/"\n}').problemTexts).toEqual([])
  })

  it('retry_join may name the loopback address of its own listener', () => {
    const config = GOOD.replace('node_id = "n1"', 'retry_join {\n leader_api_addr = "http://localhost:PORT"\n}')
    const port = /address\s*=\s*"[^"]*:(\d+)"/.exec(GOOD)?.[1] ?? '8200'
    expect(load(`${config.replace('PORT', port)}api_addr = "http://a.example:8200"\n`).problemTexts).toEqual([])
  })

  it('retry_join names the other nodes to try, with their TLS settings', () => {
    const others = 'leader_api_addr = "https://b:8200/"\n leader_ca_cert_file = "ca.pem"\n leader_tls_servername = "b"'
    const { config, problemTexts } = withJoin(
      `retry_join {\n leader_api_addr = "http://127.0.0.1:9000"\n}\nretry_join {\n ${others}\n}`,
    )
    expect(problemTexts).toEqual([])
    expect(config?.storage.retryJoin).toEqual([
      expect.objectContaining({ address: 'https://b:8200', caFile: 'ca.pem', serverName: 'b', clientKeyFile: '' }),
    ])
  })

  it('retry_join without an address and auto_join are configuration errors', () => {
    const text = 'auto_join: node discovery is not supported: set leader_api_addr for each node'
    const problems = withJoin('retry_join {\n auto_join = "provider=aws"\n}').problemTexts
    expect(problems).toEqual([`FILE:9: ${text}`, 'FILE:8: retry_join needs a URL as leader_api_addr'])
  })
})

describe('addresses', () => {
  const MACHINE = [{ name: 'eth0', address: '10.0.0.12', prefixLength: 24, isDefault: true }]
  const loadThere = (text: string, env: Record<string, string> = {}, ...flags: string[]) => {
    const name = file(text)
    const loaded = loadServerConfig([`-config=${name}`, ...flags], env, () => MACHINE)
    const texts = loaded.problems.map(({ origin, text: reason }) => `${origin.replace(name, 'FILE')}: ${reason}`)
    return { ...loaded, texts }
  }

  it('an address template becomes an address of this machine in every address setting', () => {
    const ip = '{{ GetInterfaceIP \\"eth0\\" }}'
    const { config, texts } = loadThere(`
listener "tcp" {
  address = "${ip}:8200"
  cluster_address = "{{ GetPrivateIP }}:8201"
  tls_disable = 1
}
storage "raft" {
  path = "/data"
  retry_join {
    leader_api_addr = "http://${ip}:8300"
  }
}
api_addr = "http://{{ GetPrivateIP }}:8200"
cluster_addr = "https://{{ GetAllInterfaces | include \\"name\\" \\"eth\\" | limit 1 | attr \\"address\\" }}:8201"
understudy {
  etcd_peer_address = "{{ GetPrivateIP }}:2380"
}
`)
    expect(texts).toEqual([])
    expect(config).toMatchObject({
      listeners: [{ address: '10.0.0.12:8200' }],
      clusterBindAddress: '10.0.0.12:8201',
      apiAddress: 'http://10.0.0.12:8200',
      clusterAddress: 'https://10.0.0.12:8201',
      storage: { retryJoin: [{ address: 'http://10.0.0.12:8300' }] },
      own: { etcdPeerAddress: '10.0.0.12:2380' },
    })
  })

  it('an address template in a variable or a flag becomes an address of this machine', () => {
    const env = { VAULT_API_ADDR: 'http://{{ GetPrivateIP }}:1', VAULT_CLUSTER_INTERFACE: 'eth0' }
    const { config, texts } = loadThere(GOOD, env, '-dev', '-dev-listen-address={{ GetPrivateIP }}:8200')
    expect(texts).toEqual([])
    expect(config).toMatchObject({
      listeners: [{ address: '10.0.0.12:8200' }, { address: '127.0.0.1:9000' }],
      apiAddress: 'http://10.0.0.12:1',
      clusterAddress: 'https://10.0.0.12:8201',
    })
  })

  it.each([
    ['api_addr = "http://{{ GetPublicIP }}:8200"', 'FILE:10: api_addr: {{ GetPublicIP }} matches no address'],
    ['api_addr = "{{ GetHostname }}"', 'FILE:10: api_addr: GetHostname is not supported: use one of Get'],
    ['cluster_addr = "{{ GetAllInterfaces | join \\"name\\" \\" \\" }} b"', 'FILE:10: cluster_addr: "'],
    ['api_addr = "nowhere at all"', 'FILE:10: api_addr: "nowhere at all" is not an address such as https://host:8200'],
    ['api_addr = "ftp://a:1"', 'FILE:10: api_addr: "ftp://a:1" is not an address'],
    ['api_addr = "https://"', 'FILE:10: api_addr: "https://" is not an address'],
    ['api_addr = "http://256.0.0.1:8200"', 'FILE:10: api_addr: "http://256.0.0.1:8200" is not an address'],
    ['api_addr = "http://a:99999"', 'FILE:10: api_addr: "http://a:99999" is not an address'],
    ['api_addr = "http://[fe80:::1]:8200"', 'FILE:10: api_addr: "http://[fe80:::1]:8200" is not an address'],
    ['cluster_addr = "https://:8201"', 'FILE:10: cluster_addr: "https://:8201" is not an address'],
    ['understudy {\n dial_routes = "a:1=b:70000"\n}', 'FILE:11: dial_routes: "a:1=b:70000" is not a route'],
    ['storage "raft" {\n path = "/d"\n retry_join {\n leader_api_addr = "http://a b"\n}\n}', 'leader_api_addr'],
    ['storage "etcd" {\n address = "http://a:99999"\n}', 'FILE:11: address must be a list of etcd'],
    ['seal "transit" {\n address = "http://a b"\n}', 'FILE:11: address must be a URL such as https://host:8200'],
    [
      'listener "tcp" {\n tls_disable = 1\n x_forwarded_for_authorized_addrs = "10.0.0.0/8,proxy"\n}',
      'FILE:12: x_forwarded_for_authorized_addrs: "proxy" is not an address or a network such as 10.0.0.0/8',
    ],
    [
      'understudy {\n etcd_peer_address = "peer"\n}',
      'FILE:11: etcd_peer_address: "peer" is not an address of the form',
    ],
  ])('an invalid address is rejected with its setting: %s', (text, problem) => {
    expect(loadThere(GOOD + text).texts.join('\n')).toContain(problem)
  })

  it.each(['a b:1', 'a:b:1', '127.0.0:8200', 'x_y:70000', '[127.0.0.1]:8200'])(
    'an invalid listener address is rejected with its setting: %s',
    (address) => {
      const text = GOOD.replace('127.0.0.1:9000', address)
      expect(loadThere(text).texts).toContain(`FILE:3: address: "${address}" is not an address of the form host:port`)
    },
  )

  it.each(['a.example', 'vault_1:8200', '[::1]:8200', '10.0.0.1', 'https://lb.example/vault/', 'http://localhost.:1'])(
    'a valid address is accepted: %s',
    (address) => {
      expect(loadThere(`${GOOD}api_addr = "${address}"\ncluster_addr = "${address}"\n`).texts).toEqual([])
    },
  )
})

describe('forms of a file', () => {
  it.each([
    '{"listener": {"tcp": {"address": "127.0.0.1:9000", "tls_disable": true}}, "storage": {"inmem": {}}}',
    '{"listener": [{"tcp": {"address": "127.0.0.1:9000", "tls_disable": "true"}}], "backend": {"inmem": {}}}',
    '{"listener": {"tcp": [{"address": "127.0.0.1:9000", "tls_disable": 1}]}, "storage": [{"inmem": [{}]}]}',
    '{"listener": [{"tcp": [{"address": "127.0.0.1:9000", "tls_disable": "1"}]}], "backend": [{"inmem": {}}]}',
  ])('the configuration in JSON: %s', (text) => {
    const { config, problems } = loadServerConfig([`-config=${file(text, 'json')}`], {})
    expect(problems).toEqual([])
    expect(config?.listeners).toMatchObject([{ address: '127.0.0.1:9000', tls: undefined }])
    expect(config?.storage.label).toBe('inmem')
  })

  it('a configuration directory is read in name order: later values win, and listeners add up', () => {
    const inner = path.join(directory, 'many')
    mkdirSync(inner)
    writeFileSync(
      path.join(inner, 'b.json'),
      '{"cluster_name": "second", "listener": {"tcp": {"address": "127.0.0.1:9010", "tls_disable": true}}}',
    )
    writeFileSync(path.join(inner, 'a.hcl'), `${GOOD}cluster_name = "first"\n`)
    writeFileSync(path.join(inner, 'c.txt'), 'cluster_name = "not read"')
    const { config, settings } = loadServerConfig([`-config=${inner}`], {})
    expect(config?.clusterName).toBe('second')
    expect(config?.listeners.map(({ address }) => address)).toEqual(['127.0.0.1:9000', '127.0.0.1:9010'])
    expect(settings).toContainEqual({
      name: 'cluster_name',
      value: 'second',
      origin: `${path.join(inner, 'b.json')}:1`,
    })
  })

  it.each(['{"cluster_name": "local"}', 'cluster_name = "local"'])('VAULT_LOCAL_CONFIG accepts %s', (text) => {
    const { config, settings } = load(`${GOOD}cluster_name = "file"\n`, { VAULT_LOCAL_CONFIG: text })
    expect(config?.clusterName).toBe('local')
    expect(settings).toContainEqual({ name: 'cluster_name', value: 'local', origin: 'VAULT_LOCAL_CONFIG:1' })
  })
})

describe('the origin of a setting', () => {
  const originOf = ({ settings }: ReturnType<typeof loadServerConfig>, name: string) =>
    settings.filter((row) => row.name === name).map(({ value, origin }) => [value, origin])

  it('a setting comes from the flag, then the variable, then the file, then the default', () => {
    const text = `${GOOD}log_level = "error"\n`
    const { name, ...inFile } = load(text)
    expect(originOf(inFile, 'log_level')).toEqual([['error', `${name}:10`]])
    const env = { VAULT_LOG_LEVEL: 'warn', VAULT_API_ADDR: 'http://me:1', UNDERSTUDY_HEARTBEAT_INTERVAL: '2s' }
    const byEnv = load(text, env)
    expect(originOf(byEnv, 'log_level')).toEqual([['warn', 'VAULT_LOG_LEVEL']])
    expect(originOf(byEnv, 'api_addr')).toEqual([['http://me:1', 'VAULT_API_ADDR']])
    expect(originOf(byEnv, 'understudy.heartbeat_interval')).toEqual([['2s', 'UNDERSTUDY_HEARTBEAT_INTERVAL']])
    const byFlag = load(text, env, '-log-level=debug')
    expect(originOf(byFlag, 'log_level')).toEqual([['debug', '-log-level']])
    expect(originOf(byFlag, 'understudy.keepalive_time')).toEqual([['5s', 'default']])
  })

  it('a misspelt variable of the server gets a warning, and a variable of labs does not', () => {
    const env = { UNDERSTUDY_HARTBEAT_INTERVAL: '2s', UNDERSTUDY_RANDOM_PORTS: '20000-20999' }
    const { warningTexts } = load(GOOD, env)
    expect(warningTexts).toEqual([
      'environment: unknown variable UNDERSTUDY_HARTBEAT_INTERVAL: it has no effect; did you mean UNDERSTUDY_HEARTBEAT_INTERVAL?',
    ])
  })

  it('each setting is shown once with its origin, and without secrets', () => {
    const key = 'a'.repeat(64)
    const loaded = load(
      `${GOOD}seal "static" {\n current_key_id = "k1"\n current_key = "${key}"\n}\nunderstudy {\n lab_api_token = "very-secret"\n}\n`,
      { VAULT_DEV_ROOT_TOKEN_ID: 'root-secret' },
      '-dev',
    )
    expect(loaded.problemTexts).toEqual([])
    const names = loaded.settings.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const shown = JSON.stringify(loaded.settings)
    for (const secret of [key, 'very-secret', 'root-secret']) expect(shown).not.toContain(secret)
    expect(originOf(loaded, 'seal.current_key')).toEqual([['(hidden)', expect.stringContaining(':12')]])
    expect(originOf(loaded, 'dev.root_token_id')).toEqual([['(hidden)', 'VAULT_DEV_ROOT_TOKEN_ID']])
  })
})

describe('development mode', () => {
  it('flags and variables of the development mode do not start it without -dev', () => {
    const flags = ['-dev-root-token-id=', '-dev-listen-address=0.0.0.0:8200']
    const { config, problemTexts } = load(GOOD, { VAULT_DEV_LISTEN_ADDRESS: 'x' }, ...flags)
    expect(problemTexts).toEqual([])
    expect(config?.dev).toBeUndefined()
    expect(config?.listeners).toHaveLength(1)
  })

  it('takes the flags by which dev servers of the reference are started to replicate', () => {
    for (const flag of ['-dev-ha', '-dev-transactional', '-dev-no-kv', '-dev-kv-v1', '-dev-leased-kv'])
      expect(loadServerConfig([flag], {}).config?.dev, flag).toBeDefined()
    const guide = ['-dev', '-dev-ha', '-dev-transactional', '-dev-root-token-id=root']
    expect(loadServerConfig(guide, {})).toMatchObject({ problems: [], warnings: [], config: { dev: {} } })
    const ignored = ['-dev', '-dev-latency=50', '-dev-latency-jitter=5', '-dev-plugin-dir=/p', '-dev-plugin-init']
    const { problems, warnings } = loadServerConfig(ignored, {})
    expect(problems).toEqual([])
    expect(warnings.map(({ origin }) => origin)).toEqual([
      '-dev-latency',
      '-dev-latency-jitter',
      '-dev-plugin-dir',
      '-dev-plugin-init',
    ])
    const refused = loadServerConfig(['-dev-four-cluster'], {}).problems.map(({ text }) => text)
    expect(refused.join()).toMatch(/understudy up four/)
  })

  it('-dev-ha, -dev-transactional and -dev-three-node show the storage of the reference', () => {
    const labelOf = (...flags: string[]) => loadServerConfig(flags, {}).config?.storage.label
    expect(labelOf('-dev')).toBe('inmem')
    expect(labelOf('-dev', '-dev-ha')).toBe('inmem_ha')
    expect(labelOf('-dev', '-dev-transactional')).toBe('inmem_transactional')
    expect(labelOf('-dev-ha', '-dev-transactional')).toBe('inmem_ha')
    expect(labelOf('-dev-three-node')).toBe('inmem_ha')
    expect(labelOf('-dev-ha', '-data-dir=/d')).toBe('leveldb')
  })

  it('-dev-three-node implies -dev-tls, and refuses a directory for the data', () => {
    const { config } = loadServerConfig(['-dev-three-node'], {})
    expect([config?.dev?.nodes, config?.dev?.tls?.directory]).toEqual([3, ''])
    expect(loadServerConfig(['-dev', '-dev-three-node=false'], {}).config?.dev?.nodes).toBe(1)
    const { problems } = loadServerConfig(['-dev-three-node', '-data-dir=/d'], {})
    expect(problems.map(({ text }) => text).join()).toContain('leave out -data-dir')
  })

  it('-dev-tls implies -dev and serves TLS', () => {
    const { config } = loadServerConfig(['-dev-tls', '-dev-tls-san=a.test', '-dev-tls-san', 'b.test'], {})
    expect(config?.dev?.tls).toEqual({ directory: '', extraHosts: ['a.test', 'b.test'] })
    expect(config?.listeners[0]?.tls).toBeDefined()
    expect(config?.apiAddress).toBe('https://127.0.0.1:8200')
  })
})

it('lease times of zero mean the default', () => {
  const { config } = load(`${GOOD}max_lease_ttl = "0h"\ndefault_lease_ttl = "0"\n`)
  expect(config).toMatchObject({ maxLeaseTtlSeconds: 2_764_800, defaultLeaseTtlSeconds: 2_764_800 })
})

it.each([
  ['"10.0.0.0/8, 192.0.2.7"', ['10.0.0.0/8', '192.0.2.7']],
  ['["10.0.0.0/8", "::1"]', ['10.0.0.0/8', '::1']],
])('the proxies of a listener are a list or text with commas: %s', (addresses, networks) => {
  const more = `tls_disable = 1\n proxy_protocol_behavior = "allow_authorized"\n proxy_protocol_authorized_addrs = ${addresses}`
  const { config, problems, warnings } = load(GOOD.replace('tls_disable = 1', more))
  expect([problems, warnings]).toEqual([[], []])
  const authorizedAddrs = networks.map(parseCidrOrAddress)
  expect(config?.listeners[0]?.proxyProtocol).toEqual({ authorizedAddrs, refusesOthers: false })
})

it.each(['', ' proxy_protocol_behavior = "use_always"\n'])(
  'proxies that no behavior uses get a warning',
  (behavior) => {
    const more = `tls_disable = 1\n${behavior} proxy_protocol_authorized_addrs = "10.0.0.1"`
    const { config, warningTexts } = load(GOOD.replace('tls_disable = 1', more))
    expect(config).toBeDefined()
    expect(warningTexts).toEqual([
      `FILE:${behavior === '' ? 5 : 6}: proxy_protocol_authorized_addrs has no effect without proxy_protocol_behavior "allow_authorized" or "deny_unauthorized"`,
    ])
  },
)

it.each([
  ['', ''],
  ['/', ''],
  ['root', ''],
  ['team', 'team/'],
  ['/team/child/', 'team/child/'],
])('the namespace of a listener may have slashes around it: %j', (written, chrootNamespace) => {
  const { config, problems } = load(
    GOOD.replace('tls_disable = 1', `tls_disable = 1\n chroot_namespace = "${written}"`),
  )
  expect(problems).toEqual([])
  expect(config?.listeners[0]).toMatchObject({ chrootNamespace, withheld: [] })
})

it('a listener withholds what its settings name', () => {
  const keys = ['redact_addresses', 'redact_cluster_name', 'redact_version', 'disable_replication_status_endpoints']
  const withheld = keys.map((key) => {
    const { config, problems, warnings } = load(GOOD.replace('tls_disable = 1', `tls_disable = 1\n ${key} = "true"`))
    expect([problems, warnings]).toEqual([[], []])
    return config?.listeners[0]?.withheld
  })
  expect(withheld).toEqual([['addresses'], ['cluster-name'], ['version'], ['replication-status']])
  const wrong = load(GOOD.replace('tls_disable = 1', 'tls_disable = 1\n redact_version = "maybe"'))
  expect(wrong.problemTexts).toEqual(['FILE:5: redact_version must be true or false'])
})

it('an inherited name as a setting causes a warning, and so do headers that no response has', () => {
  const { warningTexts, config } = load(
    `${GOOD}constructor = 1\n__proto__ = 2\n`.replace(
      'tls_disable = 1',
      'tls_disable = 1\n custom_response_headers { "default" = {} }',
    ),
  )
  expect(config).toBeDefined()
  expect(warningTexts.map((text) => text.replace(/^FILE:\d+: /, ''))).toEqual([
    'unknown or unsupported field constructor found in configuration',
    'unknown or unsupported field __proto__ found in configuration',
    'custom_response_headers: not supported: the server does not send these headers',
  ])
})
