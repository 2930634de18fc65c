import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { replaceFile } from '../../../src/base/replace-file.js'
import { storeToken } from '../../../src/cli/vault/settings.js'
import { writeKeysFile } from '../../../src/lab/keys/keys-file.js'
import { makeLabTls, prepareDevTls, writeDevKey } from '../../../src/server/dev/dev.js'
import type { ServerConfig } from '../../../src/server/config/config.js'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-replace-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const at = (name: string): string => path.join(directory, name)
const modeOf = (name: string): number => lstatSync(at(name)).mode & 0o777

it('a replaced file has the new mode, and the target of a link stays unchanged', () => {
  writeFileSync(at('target'), 'theirs', { mode: 0o644 })
  symlinkSync(at('target'), at('link'))
  symlinkSync(at('none'), at('dangling'))
  writeFileSync(at('open'), 'old', { mode: 0o644 })
  for (const name of ['link', 'dangling', 'open', 'new']) {
    replaceFile(at(name), 'secret')
    expect({ name, mode: modeOf(name), isFile: lstatSync(at(name)).isFile() }).toEqual({
      name,
      mode: 0o600,
      isFile: true,
    })
    expect(readFileSync(at(name), 'utf8')).toBe('secret')
  }
  expect(readFileSync(at('target'), 'utf8')).toBe('theirs')
  expect(readdirSync(directory).sort()).toEqual(['dangling', 'link', 'new', 'open', 'target'])
})

it('a draft that is a link is not written through', () => {
  writeFileSync(at('target'), 'theirs')
  symlinkSync(at('target'), at(`file.${process.pid}`))
  replaceFile(at('file'), 'secret')
  expect(readFileSync(at('target'), 'utf8')).toBe('theirs')
})

it('replacing a device writes to it and keeps it', () => {
  symlinkSync('/dev/null', at('null'))
  replaceFile(at('null'), 'secret')
  expect(lstatSync(at('null')).isSymbolicLink()).toBe(true)
  expect(statSync(at('null')).isCharacterDevice()).toBe(true)
})

it('a file that cannot be replaced leaves no draft', () => {
  mkdirSync(at('directory'))
  expect(() => replaceFile(at('directory'), 'x')).toThrow(/EISDIR/)
  expect(() => replaceFile(at('none/file'), 'x')).toThrow(/ENOENT/)
  expect(readdirSync(directory)).toEqual(['directory'])
})

const devTls = (): Promise<unknown> => {
  const config = { dev: { tls: { directory, extraHosts: [] } }, listeners: [{ address: '127.0.0.1:0', tls: {} }] }
  return prepareDevTls(config as unknown as ServerConfig, systemClock)
}

const WRITERS: readonly [string, string, () => unknown][] = [
  ['the stored token', '.vault-token', () => storeToken(directory, 'secret')],
  ['the development secrets', 'dev', () => writeDevKey(at('dev'), { rootToken: 'r', unsealKey: 'u' })],
  ['the key of -dev-tls', 'vault-key.pem', devTls],
  ['the key of a lab', 'key.pem', () => makeLabTls(directory, systemClock.now())],
  ['the keys of wired clusters', 'keys.json', () => writeKeysFile(at('keys.json'), {} as never)],
]

it.each(WRITERS)('%s is readable by its owner only, whatever it replaces', async (_, name, write) => {
  writeFileSync(at(name), 'old')
  chmodSync(at(name), 0o644)
  await write()
  expect(modeOf(name)).toBe(0o600)
  rmSync(at(name))
  writeFileSync(at('target'), 'theirs')
  symlinkSync(at('target'), at(name))
  await write()
  expect({ mode: modeOf(name), isFile: lstatSync(at(name)).isFile() }).toEqual({ mode: 0o600, isFile: true })
  expect(readFileSync(at('target'), 'utf8')).toBe('theirs')
})
