import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..', '..')
const BUILT = path.join(root, 'dist', 'main.js')

/**
 * A vitest global setup: compiles the program before tests that start it, unless the build is newer than all sources.
 */
export const setup = (): void => {
  if (existsSync(BUILT) && statSync(BUILT).mtimeMs > newestSource()) return
  const { status, stdout } = spawnSync('npm', ['run', 'build', '--silent'], { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`the program cannot be compiled:\n${stdout}`)
}

const newestSource = (): number =>
  Math.max(
    ...readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|yaml|css|html|svg|sh)$/.test(name))
      .map((name) => statSync(path.join(root, 'src', name)).mtimeMs),
  )
