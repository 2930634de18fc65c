import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { buildSync } from 'esbuild'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeTemporaryDirectory } from '../../../src/base/temporary-directory.js'

/** A bundle in the form of the build. Its exports name its directory and a package of Node. */
const BUNDLE = `(run => typeof arguments === 'undefined' ? run : run(exports, require, module, __filename, __dirname))(
function (exports, require, module, __filename, __dirname) {
  const later = () => 'answer-1'
  module.exports = { later, __dirname, sep: require('node:path').sep }
})`

let directory: string
let packaged: string
let near: string
let home: string

beforeEach(() => {
  directory = makeTemporaryDirectory('bundle')
  packaged = path.join(directory, 'package')
  near = path.join(packaged, 'cache')
  home = path.join(directory, 'home')
  mkdirSync(packaged)
  writeFileSync(path.join(packaged, 'bundle.cjs'), BUNDLE)
  buildSync({
    entryPoints: ['src/base/load-bundle.ts'],
    bundle: true,
    platform: 'node',
    outfile: path.join(packaged, 'load.cjs'),
  })
})

afterEach(() => rm(directory, { recursive: true }))

/** Loads the bundle in a new process. Prints its results, and whether V8 used the code that was saved. */
const load = (build = 'one', env: NodeJS.ProcessEnv = {}, flags: readonly string[] = [], user: User = {}): object =>
  run(
    `
    const vm = require('node:vm')
    let accepted = false
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options)
        accepted = options.cachedData !== undefined && !this.cachedDataRejected
      }
    }
    const { loadBundle } = require('./load.cjs')
    const load = () => loadBundle({ file: require('node:path').resolve('bundle.cjs'), build: '${build}', purpose: 'test' })
    const { later, __dirname: at, sep } = load()
    const isSame = load().later === later
    console.log(JSON.stringify({ accepted, isSame, text: later(), sep, isHere: at === process.cwd() }))`,
    env,
    flags,
    user,
  )

interface User {
  readonly uid?: number
}

/** Runs a script in a new process. Returns the JSON that it prints. */
const run = (script: string, env: NodeJS.ProcessEnv = {}, flags: readonly string[] = [], user: User = {}): object => {
  const options = { ...user, cwd: packaged, encoding: 'utf8', env: { XDG_CACHE_HOME: home, ...env } } as const
  return JSON.parse(execFileSync(process.execPath, [...flags, '-e', script], options)) as object
}

const result = { isSame: true, text: 'answer-1', sep: path.sep, isHere: true }
const fresh = { ...result, accepted: false }
const reused = { ...result, accepted: true }

describe('loadBundle', () => {
  it('the second process uses the code that the first process saved, which only its user can read', () => {
    expect(load()).toEqual(fresh)
    expect([statSync(near).mode & 0o777, statSync(path.join(near, 'test.v8')).mode & 0o777]).toEqual([0o700, 0o600])
    expect(load()).toEqual(reused)
    expect(readdirSync(near)).toEqual(['test.v8'])
  })

  it('code of another build with a text of the same length is replaced', () => {
    load()
    writeFileSync(path.join(packaged, 'bundle.cjs'), BUNDLE.replace('answer-1', 'answer-2'))
    expect(load('two')).toEqual({ ...fresh, text: 'answer-2' })
    expect(load('two')).toEqual({ ...reused, text: 'answer-2' })
  })

  it.each(['a damaged byte', 'a missing part'])('saved code with %s is not used and is replaced', (damage) => {
    load()
    const file = path.join(near, 'test.v8')
    const saved = readFileSync(file)
    if (damage === 'a missing part') writeFileSync(file, saved.subarray(0, 100))
    else writeFileSync(file, saved.fill((saved.at(-1) ?? 0) ^ 1, saved.length - 1))
    expect(load()).toEqual(fresh)
    expect(load()).toEqual(reused)
  })

  it('code of another Node.js, which can have the same version of V8, is not used', () => {
    const preload = path.join(directory, 'other.cjs')
    writeFileSync(preload, "Object.defineProperty(process, 'version', { value: 'v20.0.0' })")
    load('one', {}, ['--require', preload])
    expect(load()).toEqual(fresh)
    expect(load()).toEqual(reused)
  })

  it('code for other options of V8 is not used', () => {
    load()
    expect(load('one', {}, ['--no-opt'])).toEqual(fresh)
  })

  it('code in a directory to which another user can write is not used, and the directory of the user serves instead', () => {
    load()
    chmodSync(near, 0o777)
    expect(load()).toEqual(fresh)
    expect(existsSync(path.join(home, 'understudy', 'test.v8'))).toBe(true)
    expect(load()).toEqual(reused)
  })

  it.runIf(process.geteuid?.() === 0)(
    'code that root saved is used for other users, and other code of theirs is not',
    () => {
      load()
      chmodSync(near, 0o755)
      chmodSync(path.join(near, 'test.v8'), 0o644)
      for (const file of [directory, packaged]) chmodSync(file, 0o755)
      const asOther = { uid: 65_534 }
      expect(load('one', {}, [], asOther)).toEqual(reused)
      chownSync(path.join(near, 'test.v8'), 65_533, 65_533)
      expect(load('one', {}, [], asOther)).toEqual(fresh)
    },
  )

  it('a saved file to which another user can write is not used', () => {
    load()
    chmodSync(path.join(near, 'test.v8'), 0o666)
    expect(load()).toEqual(fresh)
  })

  it('the bundle loads if no directory can be created', () => {
    writeFileSync(near, '')
    writeFileSync(home, '')
    expect(load()).toEqual(fresh)
    expect(load()).toEqual(fresh)
  })

  it('NODE_DISABLE_COMPILE_CACHE turns saved code off', () => {
    expect(load('one', { NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual(fresh)
    expect(existsSync(near)).toBe(false)
  })

  it('in the context of a test runner, the module loader of the test runner loads the bundle', () => {
    const script = `
      const vm = require('node:vm')
      const loaderOfRunner = { createRequire: () => Object.assign((file) => ({ loaded: file }), { cache: {} }) }
      const requireInContext = (name) => (name === 'node:module' ? loaderOfRunner : require(name))
      const module = { exports: {} }
      const context = vm.createContext({ require: requireInContext, module, process })
      vm.runInContext(require('node:fs').readFileSync('load.cjs', 'utf8'), context)
      console.log(JSON.stringify(module.exports.loadBundle({ file: '/bundle.cjs', build: 'one', purpose: 'test' })))`
    expect(run(script)).toEqual({ loaded: '/bundle.cjs' })
  })
})
