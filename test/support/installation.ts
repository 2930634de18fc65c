import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const ROOT = path.join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

interface Manifest {
  readonly name: string
  readonly version: string
}

/**
 * A user project with the packed package, installed with npm from a registry on this machine. The registry has only
 * this package. Its dependencies are copied from this repository, so no other registry is contacted.
 */
export class Installation implements AsyncDisposable {
  readonly directory = mkdtempSync(path.join(tmpdir(), 'understudy-project-'))
  readonly #registry: http.Server

  private constructor(registry: http.Server) {
    this.#registry = registry
  }

  static async make(): Promise<Installation> {
    const installation = new Installation(await serve(await pack()))
    try {
      await installation.#install()
      return installation
    } catch (error) {
      await installation[Symbol.asyncDispose]()
      throw error
    }
  }

  get bin(): string {
    return path.join(this.directory, 'node_modules', '.bin')
  }

  get packageDirectory(): string {
    return path.join(this.directory, 'node_modules', 'understudy-lab')
  }

  /** Environment variables that make npm use only this registry. */
  get env(): Readonly<Record<string, string>> {
    const { port } = this.#registry.address() as AddressInfo
    return {
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    }
  }

  async #install(): Promise<void> {
    writeFileSync(path.join(this.directory, 'package.json'), '{ "name": "scratch", "private": true, "type": "module" }')
    copyDependencies(this.directory)
    const home = path.join(this.directory, 'home')
    mkdirSync(home)
    const env = { PATH: process.env.PATH, HOME: home, ...this.env }
    await run('npm', ['install', '--save-dev', '--silent', 'understudy-lab'], { cwd: this.directory, env })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#registry.closeAllConnections()
    await new Promise((resolve) => this.#registry.close(resolve))
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Returns the package as a tarball. */
const pack = async (): Promise<Buffer> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-packed-'))
  try {
    await run('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${directory}`], { cwd: ROOT })
    const [tarball = ''] = readdirSync(directory)
    return readFileSync(path.join(directory, tarball))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Starts a registry with one version of the package. */
const serve = async (tarball: Buffer): Promise<http.Server> => {
  const manifest = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Manifest
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const server = http.createServer(({ url, headers }, response) => {
    if (url === '/package.tgz') return response.end(tarball)
    if (url !== `/${manifest.name}`) return response.writeHead(404).end('{}')
    const dist = { tarball: `http://${headers.host}/package.tgz`, integrity }
    const { name, version } = manifest
    const versions = { [version]: { ...manifest, dist } }
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

/** Copies the production dependencies of the lock file with their program links. */
const copyDependencies = (directory: string): void => {
  const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly dev?: true; readonly devOptional?: true }>>
  }
  for (const [location, { dev, devOptional }] of Object.entries(lock.packages)) {
    const isOfUsers = location !== '' && !dev && !devOptional && existsSync(path.join(ROOT, location))
    if (isOfUsers) cpSync(path.join(ROOT, location), path.join(directory, location), { recursive: true })
  }
  const bin = path.join('node_modules', '.bin')
  mkdirSync(path.join(directory, bin))
  for (const name of readdirSync(path.join(ROOT, bin))) {
    const target = readlinkSync(path.join(ROOT, bin, name))
    if (existsSync(path.join(directory, bin, target))) symlinkSync(target, path.join(directory, bin, name))
  }
}
