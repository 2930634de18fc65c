import { describe, expect, it } from 'vitest'
import { decideLaunch, type LaunchFacts } from '../../../src/cli/container/launch.js'
import { addressesOf } from '../../../src/cli/commands/healthcheck.js'

const EMPTY: LaunchFacts = { hasConfigFiles: false, devRootTokenId: undefined, devListenAddress: undefined }
const DEFAULTS = ['-dev-root-token-id=', '-dev-listen-address=0.0.0.0:8200']

describe('what a container is started with', () => {
  it('a container start puts defaults before the server flags, so that the flags of the caller win', () => {
    const facts = { hasConfigFiles: true, devRootTokenId: 'known', devListenAddress: '0.0.0.0:8300' }
    expect(decideLaunch(['server', '-log-level=debug'], facts)).toEqual({
      kind: 'own',
      calledAs: 'vault',
      args: [
        ...['server', '-config=/vault/config', '-dev-root-token-id=known', '-dev-listen-address=0.0.0.0:8300'],
        '-log-level=debug',
      ],
    })
  })

  it('a container start keeps a lab in the foreground and open to published ports', () => {
    expect(decideLaunch(['up', 'pr-dr', '--bind', '127.0.0.1'], EMPTY)).toEqual({
      kind: 'own',
      calledAs: 'understudy',
      args: ['up', '--foreground', '--bind', '0.0.0.0', 'pr-dr', '--bind', '127.0.0.1'],
    })
  })

  it('a container start treats a first argument with a dash as a server flag', () => {
    const launch = decideLaunch(['-dev', '-dev-kv-v1'], EMPTY)
    expect(launch).toMatchObject({ args: ['server', ...DEFAULTS, '-dev', '-dev-kv-v1'] })
  })

  it.each([['-config=/vault/config/a.hcl'], ['--config=/vault/config']])(
    'a container start does not read the configuration twice for %s',
    (flag) => {
      const launch = decideLaunch(['server', flag], { ...EMPTY, hasConfigFiles: true })
      expect(launch).toMatchObject({ args: ['server', ...DEFAULTS, flag] })
    },
  )

  it('a container start adds the configuration directory to a file from elsewhere', () => {
    const launch = decideLaunch(['server', '-config', '/etc/other.hcl'], { ...EMPTY, hasConfigFiles: true })
    expect(launch).toMatchObject({
      args: ['server', '-config=/vault/config', ...DEFAULTS, '-config', '/etc/other.hcl'],
    })
  })

  it.each([
    [['vault', 'server', '-dev'], { kind: 'own', calledAs: 'vault', args: ['server', '-dev'] }],
    [['understudy', 'healthcheck'], { kind: 'own', calledAs: 'understudy', args: ['healthcheck'] }],
    [['status'], { kind: 'own', calledAs: 'vault', args: ['status'] }],
    [['-version'], { kind: 'own', calledAs: 'vault', args: ['-version'] }],
    [['sh', '-c', 'env'], { kind: 'program', command: 'sh', args: ['-c', 'env'] }],
  ])('a container start runs %j unchanged', (args, launch) => {
    expect(decideLaunch(args, EMPTY)).toEqual(launch)
  })
})

describe('the address that the health check asks', () => {
  it.each([
    [['node', '/usr/local/bin/vault', 'server', '-dev', '-dev-listen-address=0.0.0.0:9999'], ['http://127.0.0.1:9999']],
    [['node', '/usr/local/bin/understudy-entrypoint', 'server', '-dev'], ['http://127.0.0.1:8200']],
    [['node', '/usr/local/bin/understudy-entrypoint', 'sh'], []],
    [['sh', '-c', 'vault server -dev'], []],
    [[], []],
  ])('the health check of a first process %j asks %j', (commandLine, addresses) => {
    expect(addressesOf(commandLine, {})).toEqual(addresses)
  })
})
