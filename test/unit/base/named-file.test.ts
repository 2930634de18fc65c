import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { LIMITS } from '../../../src/base/limits.js'
import { readNamedFile, readNamedText } from '../../../src/base/named-file.js'
import { readKeysFile } from '../../../src/lab/keys/keys-file.js'
import { readDrillFile } from '../../../src/lab/drills/parse.js'
import { loadCaPems } from '../../../src/replication/credentials/ca-files.js'
import { readTopologyFile } from '../../../src/lab/topology/catalogue.js'
import { readAddressFile } from '../../../src/cli/commands/address-file.js'
import { loadServerConfig } from '../../../src/server/config/server-config.js'
import { readDevKey } from '../../../src/server/dev/dev.js'
import { keyFile } from '../../../src/server/wiring/seal-parts.js'
import { openShell } from '../cli/vault-io.js'

const directory = mkdtempSync(path.join(tmpdir(), 'understudy-named-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const file = (name: string, bytes: number | string): string => {
  const place = path.join(directory, name)
  writeFileSync(place, typeof bytes === 'string' ? bytes : '')
  if (typeof bytes === 'number') truncateSync(place, bytes)
  return place
}

const pipe = path.join(directory, 'pipe.yaml')
spawnSync('mkfifo', [pipe])
const large = file('large.yaml', 40 * 1024 * 1024)

it('a file is read up to its limit', () => {
  expect(readNamedText(file('a', 'text'))).toBe('text')
  expect(readNamedFile(file('b', 100), 100)).toHaveLength(100)
  expect(() => readNamedFile(file('c', 101), 100)).toThrow('c is too large: the limit is 100 bytes')
  expect(() => readNamedFile(path.join(directory, 'none'))).toThrow(/ENOENT/)
  expect(() => readNamedFile(directory)).toThrow(/EISDIR/)
})

const READERS: readonly [string, (name: string) => unknown][] = [
  ['topology', (name) => readTopologyFile(name)],
  ['drill', (name) => readDrillFile(name)],
  ['keys', (name) => readKeysFile(name, () => undefined)],
  ['a seal key', (name) => keyFile(name, createSeededRandom('named'))],
  ['development secrets', readDevKey],
]

it.each(READERS)('a named pipe, a device and a 40 MB file are rejected at once as a file of %s', (_, read) => {
  expect(() => read(pipe)).toThrow('is not a regular file')
  expect(() => read('/dev/zero')).toThrow('is not a regular file')
  expect(() => read(large)).toThrow(`is too large: the limit is ${LIMITS.namedFileBytesMax} bytes`)
})

it('a file of addresses that is a pipe or a device has no addresses', () => {
  for (const name of [pipe, '/dev/zero', large]) expect(readAddressFile(name)).toEqual([])
})

it('a CA directory with a pipe or standard input is rejected', async () => {
  using shell = openShell({ VAULT_ADDR: 'http://127.0.0.1:1', VAULT_MAX_RETRIES: '0' })
  const place = mkdtempSync(path.join(directory, 'authorities-'))
  spawnSync('mkfifo', [path.join(place, 'pipe')])
  for (const name of [place, '/dev/fd']) {
    const { status, stderr } = await shell.run(['read', `-ca-path=${name}`, 'x'])
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining('certificate or key cannot be read'),
    })
    await expect(loadCaPems({ ca_file: '', ca_path: name, ca_cert: '' })).rejects.toThrow(/cannot be read/)
  }
})

it('a configuration file is rejected if it is a pipe, a device or too large', () => {
  for (const name of [pipe, '/dev/zero', large]) {
    const { problems } = loadServerConfig([`-config=${name}`], {})
    expect(problems.map(({ text }) => text).join()).toMatch(/not a regular file|too large/)
  }
})

it.each([
  ['write', 'x', 'v=@FILE'],
  ['policy', 'write', 'p', 'FILE'],
  ['operator', 'raft', 'snapshot', 'restore', 'FILE'],
  ['operator', 'raft', 'snapshot', 'inspect', 'FILE'],
  ['read', '-ca-cert=FILE', 'x'],
])('vault %s %s %s %s %s rejects a pipe and a device as a file', async (...args) => {
  using shell = openShell({ VAULT_ADDR: 'http://127.0.0.1:1', VAULT_MAX_RETRIES: '0' })
  for (const name of [pipe, '/dev/zero']) {
    const { status, stderr } = await shell.run(args.filter(Boolean).map((arg) => arg.replace('FILE', name)))
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('is not a regular file') })
  }
})

it.each([
  ['brackets', '['.repeat(100_000)],
  ['braces', '{a: '.repeat(100_000)],
  ['dashes', '- '.repeat(100_000)],
  ['indentation', Array.from({ length: 1000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n')],
])('a YAML file with too many levels of %s is rejected with its line', (_, text) => {
  expect(() => readTopologyFile(file('deep.yaml', text))).toThrow(
    /deep\.yaml:\d+:1: the file is nested more than 64 levels deep/,
  )
})
