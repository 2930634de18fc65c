import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import path from 'node:path'
import { runInThisContext, Script } from 'node:vm'
import { attempt } from './attempt.js'
import { makeDirectory } from './make-directory.js'
import { replaceFile } from './replace-file.js'

/** By then, a process has compiled what its start needs. Later, V8 drops the code of functions that ran only once. */
const SAVE_AFTER_MS = 30_000

/**
 * A CommonJS file that is also a script: as a script, its value is a function with the parameters of a CommonJS module.
 */
interface Bundle {
  readonly file: string
  /** Identifies the content of the file. V8 itself compares only the length of the text. */
  readonly build: string
  /** The kind of process. Each kind runs other functions and has its own saved code. */
  readonly purpose: string
}

type Evaluate = (...parameters: readonly unknown[]) => void

/**
 * Returns the exports of a bundle. Uses the code that V8 compiled in an earlier process, if it was saved. Otherwise,
 * saves the code of this process when it exits or after `SAVE_AFTER_MS`. The result is the same if the code cannot be
 * saved.
 */
export const loadBundle = (bundle: Bundle): unknown => {
  const { file } = bundle
  const require = createRequire(file)
  // A test runner can load the library in its own context. Its classes must be of that context.
  const isOfOtherContext = runInThisContext('Object') !== Object
  if (require.cache[file] || isOfOtherContext || process.env.NODE_DISABLE_COMPILE_CACHE) return require(file)
  const directories = cacheDirectories(file)
  const cachedData = directories.map((directory) => readCode(directory, bundle)).find((data) => data !== undefined)
  const script = new Script(readFileSync(file, 'latin1'), { filename: file, ...(cachedData && { cachedData }) })
  if (!cachedData || script.cachedDataRejected) saveOnce(script, directories, bundle)
  const module = { exports: {}, loaded: true }
  require.cache[file] = module as NodeJS.Module
  const evaluate = script.runInThisContext() as Evaluate
  evaluate(module.exports, require, module, file, path.dirname(file))
  return module.exports
}

/** Returns the directories of saved code, the preferred one first. */
const cacheDirectories = (file: string): readonly string[] => {
  const { XDG_CACHE_HOME: given = '' } = process.env
  const home = path.isAbsolute(given) ? given : attempt(() => path.join(homedir(), '.cache'))
  const near = path.join(path.dirname(file), 'cache')
  return home !== undefined && path.isAbsolute(home) ? [near, path.join(home, 'understudy')] : [near]
}

/**
 * Returns true if only this user and root can write there. Another user could save code that this process would run.
 * Root saves the code of an image, whose servers run as another user.
 */
const isPrivate = ({ uid, mode }: Stats): boolean => (uid === process.geteuid?.() || uid === 0) && (mode & 0o022) === 0

const codeFile = (directory: string, { purpose }: Bundle): string => path.join(directory, `${purpose}.v8`)

/** Identifies the program of Node.js. V8 itself compares only its own version and options. */
const nodeProgram = (): string => {
  const { size, mtimeMs } = statSync(process.execPath)
  return `${process.version} ${process.arch} ${size} ${mtimeMs}`
}

/** The digest of saved code. Damaged code and the code of another program of Node.js would end the process. */
const digestOf = ({ build }: Bundle, code: Buffer): Buffer =>
  createHash('sha256').update(`${build} ${nodeProgram()} `).update(code).digest()

/** Returns the saved code of this build. Undefined if there is none that is intact and private. */
const readCode = (directory: string, bundle: Bundle): Buffer | undefined =>
  attempt(() => {
    if (!isPrivate(lstatSync(directory))) return undefined
    const opened = openSync(codeFile(directory, bundle), constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      if (!isPrivate(fstatSync(opened))) return undefined
      const saved = readFileSync(opened)
      const code = saved.subarray(32)
      return digestOf(bundle, code).equals(saved.subarray(0, 32)) ? code : undefined
    } finally {
      closeSync(opened)
    }
  })

const saveOnce = (script: Script, directories: readonly string[], bundle: Bundle): void => {
  const save = () => {
    clearTimeout(timer)
    process.off('exit', save)
    // Without a writable directory, the next process compiles the bundle again.
    directories.some((directory) => attempt(() => writeCode(directory, bundle, script)))
  }
  const timer = setTimeout(save, SAVE_AFTER_MS).unref()
  process.on('exit', save)
}

/** Returns false if another user can write to the directory. Throws a system error. */
const writeCode = (directory: string, bundle: Bundle, script: Script): boolean => {
  makeDirectory(directory, 0o700)
  if (!isPrivate(lstatSync(directory))) return false
  const code = script.createCachedData()
  replaceFile(codeFile(directory, bundle), Buffer.concat([digestOf(bundle, code), code]))
  return true
}
