import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findEngine, hasImage } from './support/docker.js'
import { run, runAll } from './support/run.js'

/**
 * Builds the container image.
 *
 *   npm run image                        from the base of the Dockerfile, or from the Node of this machine without a registry
 *   npm run image -- --base IMAGE        from another base; `machine` is the Node of this machine. Default: UNDERSTUDY_BASE
 *   npm run image -- --name NAME         default: understudy
 */
const DEFAULT_BASE = 'node:20-bookworm-slim'
const MACHINE = 'machine'
/** Contains a hash of base-image.ts, because another version of it builds an image with other tools. */
const MACHINE_BASE = `understudy-base:${createHash('sha256')
  .update(readFileSync(path.join(import.meta.dirname, 'base-image.ts')))
  .digest('hex')
  .slice(0, 12)}`

const { values } = parseArgs({
  options: {
    base: { type: 'string', default: process.env.UNDERSTUDY_BASE ?? '' },
    name: { type: 'string', default: process.env.UNDERSTUDY_IMAGE ?? 'understudy' },
  },
})

const chooseBase = async (wanted: string): Promise<string | undefined> => {
  const base = wanted || DEFAULT_BASE
  const isMachine = base === MACHINE
  if (!isMachine && (hasImage(base) || (await run('docker', ['pull', '--quiet', base])) === 0)) return base
  if (!isMachine && wanted) return undefined
  if (!isMachine) console.log(`cannot pull ${base}: building the image from the Node of this machine`)
  if (hasImage(MACHINE_BASE)) return MACHINE_BASE
  return (await run('npx', ['tsx', 'scripts/base-image.ts', MACHINE_BASE])) === 0 ? MACHINE_BASE : undefined
}

const build = async (): Promise<number> => {
  if (!findEngine()) {
    console.error('no Docker engine responds. Install and start Docker, and make sure that you may use it.')
    return 1
  }
  const base = await chooseBase(values.base)
  if (!base) {
    console.error('there is no base image. Pass one with --base.')
    return 1
  }
  return runAll([
    'docker',
    'build',
    '--network=host',
    '--force-rm',
    `--build-arg=BASE=${base}`,
    `--tag=${values.name}`,
    '.',
  ])
}

process.exitCode = await build()
