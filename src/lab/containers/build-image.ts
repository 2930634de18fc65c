import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { makeDirectory } from '../../base/make-directory.js'
import { messageOf } from '../../base/printable.js'
import { inStep, note, type Step } from '../../base/progress.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { LabError } from '../model/lab-error.js'
import { programFile } from '../processes/child-process.js'
import { docker, dockerWithOutput, hasImage } from './docker.js'
import { makeMachineBase } from './machine-base.js'

const DEFAULT_BASE = 'node:20-bookworm-slim'
/** The value of `base` for an image that is made from the Node and the tools of this machine. */
const MACHINE = 'machine'

/** The files of the package that the Dockerfile needs. Only a checkout has a lock file. */
const CONTEXT = ['Dockerfile', 'LICENSE', 'dist', 'package-lock.json', 'package.json', 'proto']

/** The name of an image: host and port, path in lower case, tag. */
const REFERENCE = /^(?:[\w.-]+(?::\d+)?\/)?[a-z0-9]+(?:(?:\/|\.|__?|-+)[a-z0-9]+)*(?::\w[\w.-]{0,127})?$/

/** Writes the build context of the image. Throws LabError `conflict` unless the directory is new or empty. */
export const writeImageContext = (directory: string): void => {
  const root = path.join(path.dirname(programFile()), '..', '..')
  try {
    makeDirectory(directory)
  } catch (error) {
    throw new LabError('usage', `cannot create the directory ${directory}: ${messageOf(error)}`, { cause: error })
  }
  if (readdirSync(directory).length > 0)
    throw new LabError('conflict', `the directory ${directory} is not empty: specify a new or empty directory`)
  for (const name of CONTEXT.filter((file) => existsSync(path.join(root, file))))
    cpSync(path.join(root, name), path.join(directory, name), { recursive: true })
}

interface ImageOptions {
  /**
   * An image with Node, npm and a shell, or `machine`. Default: the official image of Node, or `machine` if the pull
   * fails.
   */
  readonly base: string | undefined
  /** The name of the new image. */
  readonly tag: string
}

/** Builds the image from the files of this package. Rejects with LabError. */
export const buildImage = async ({ base, tag }: ImageOptions): Promise<void> => {
  if (!REFERENCE.test(tag))
    throw new LabError(
      'usage',
      `"${tag}" is not the name of an image: use lower case, such as registry.example/lab:1.0`,
    )
  await requireEngine()
  const directory = makeTemporaryDirectory('image')
  try {
    writeImageContext(directory)
    const from = await inStep(
      'prepare the base image',
      () => chooseBase(base),
      (name) => `the base image is ${name}`,
    )
    const args = ['build', '--network=host', '--force-rm', `--build-arg=BASE=${from}`, `--tag=${tag}`, directory]
    const build = (step: Step) =>
      dockerWithOutput(args, (line) => {
        step.detail = line
      })
    await inStep(`build the image ${tag}`, build, `the image ${tag} is complete`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const requireEngine = (): Promise<unknown> =>
  docker('version', '--format', '{{.Server.Version}}').catch((cause: unknown) => {
    const fix = 'Install and start Docker, and check that you have permission to use it.'
    throw new LabError('remote', `no Docker engine responds: ${sentenceOf(messageOf(cause))} ${fix}`, { cause })
  })

/** Returns a text with a period at its end, unless it ends a sentence already. */
const sentenceOf = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`)

/**
 * Returns the name of a base image on this machine. Pulls or makes the image if this machine does not have it. Rejects
 * with LabError `remote` if a specified image cannot be pulled.
 */
const chooseBase = async (wanted: string | undefined): Promise<string> => {
  const base = wanted ?? DEFAULT_BASE
  if (base === MACHINE) return makeMachineBase()
  if (await hasImage(base)) return base
  try {
    await docker('pull', '--quiet', base)
    return base
  } catch (error) {
    if (wanted !== undefined) {
      const fix = 'Check the name, or pass "--base machine" to use the Node of this machine.'
      throw new LabError('remote', `cannot pull the base image ${base}: ${sentenceOf(messageOf(error))} ${fix}`, {
        cause: error,
      })
    }
    note(`cannot pull ${base}: the image will contain the Node.js of this machine`)
    return makeMachineBase()
  }
}
