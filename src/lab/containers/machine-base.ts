import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { packageVersion } from '../../base/package-version.js'
import { note } from '../../base/progress.js'
import { findProgram } from '../../base/programs.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { LabError } from '../model/lab-error.js'
import { docker, hasImage, run } from './docker.js'

/** The programs that the Dockerfile, scripts and health checks of labs call. */
const TOOLS = `
  awk base64 basename bash cat chmod chown cmp cp curl cut date diff dirname echo env etcd expr false find getent grep
  head hostname id ip jq kill ln ls mkdir mktemp mv nc nproc nslookup openssl printf ps pwd readlink rev rm rmdir sed
  seq sh sha256sum sleep sort stat tail tee test timeout touch tr true uname uniq wc wget whoami xargs
`
  .trim()
  .split(/\s+/)

const PROGRAM_DIRECTORIES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']
/** Links to directories below /usr, as on a system with merged /usr. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64']
const DIRECTORIES = `
  dev etc/ssl/certs proc root sys tmp usr/etc usr/lib/node_modules usr/lib/ssl usr/local/bin var/tmp
`
  .trim()
  .split(' ')
const CERTIFICATES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt']
const OPENSSL_SETTINGS = '/etc/ssl/openssl.cnf'
const FILES = {
  'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n',
  'etc/group': 'root:x:0:\nnogroup:x:65534:\n',
  // Without this file, the C library queries DNS before it reads /etc/hosts.
  'etc/nsswitch.conf': 'hosts: files dns\n',
}

/**
 * Makes a base image with the Node, npm and tools of this machine, for machines that cannot pull an image. Linux only.
 * Resolves to the name of the image, which depends on the versions of Node and of this package. Reuses an existing
 * image of this name. Rejects with LabError `usage` on other systems.
 */
export const makeMachineBase = async (): Promise<string> => {
  if (process.platform !== 'linux')
    throw new LabError('usage', 'an image from this machine requires Linux: specify a base image with --base')
  const hash = createHash('sha256')
    .update([packageVersion(), process.version, ...TOOLS].join())
    .digest('hex')
  const name = `understudy-base:${hash.slice(0, 12)}`
  if (await hasImage(name)) return name
  const directory = makeTemporaryDirectory('base')
  try {
    const root = path.join(directory, 'root')
    makeRoot(root)
    await copyPrograms(root)
    await copyNpm(root)
    const archive = path.join(directory, 'root.tar')
    await run('tar', ['-C', root, '--numeric-owner', '--owner=0', '--group=0', '-cf', archive, '.'])
    await docker('import', archive, name)
    note(`created the base image ${name} with Node ${process.version} of this machine`)
    return name
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const makeRoot = (root: string): void => {
  for (const name of MERGED) {
    mkdirSync(path.join(root, 'usr', name), { recursive: true })
    symlinkSync(`usr/${name}`, path.join(root, name))
  }
  for (const name of DIRECTORIES) mkdirSync(path.join(root, name), { recursive: true })
  for (const name of ['tmp', 'var/tmp']) chmodSync(path.join(root, name), 0o1777)
  for (const [file, text] of Object.entries(FILES)) writeFileSync(path.join(root, file), text)
  const certificates = CERTIFICATES.find((file) => existsSync(file))
  if (certificates) copyFileSync(certificates, path.join(root, 'etc/ssl/certs/ca-certificates.crt'))
  // Debian's openssl reads its configuration here. Without it, openssl cannot create certificate requests.
  if (existsSync(OPENSSL_SETTINGS)) copyFileSync(OPENSSL_SETTINGS, path.join(root, OPENSSL_SETTINGS))
  for (const name of ['openssl.cnf', 'certs']) symlinkSync(`/etc/ssl/${name}`, path.join(root, 'usr/lib/ssl', name))
}

/** Copies Node and the tools with their shared libraries, including the loader. */
const copyPrograms = async (root: string): Promise<void> => {
  const tools = TOOLS.map((name) => ({ name, file: findProgram(name, PROGRAM_DIRECTORIES) }))
  const missing = tools.filter(({ file }) => file === undefined).map(({ name }) => name)
  if (missing.length > 0) note(`note: the image lacks ${missing.join(', ')}, because this machine does not have them`)
  const libraries = new Set<string>()
  for (const { name, file } of [...tools, { name: 'node', file: process.execPath }]) {
    if (file === undefined) continue
    copyExecutable(file, path.join(root, 'usr/bin', name))
    // A script has no libraries, and ldd fails.
    const listing = await run('ldd', [realpathSync(file)]).catch(() => '')
    for (const [, library = ''] of listing.matchAll(/(?:=>\s+|^\s*)(\/\S+)\s+\(0x/gm)) libraries.add(library)
  }
  for (const library of libraries) copyExecutable(library, path.join(root, library))
}

const copyExecutable = (from: string, to: string): void => {
  mkdirSync(path.dirname(to), { recursive: true })
  copyFileSync(realpathSync(from), to)
  chmodSync(to, 0o755)
}

/** Copies npm with the global settings of this machine, such as its registry. */
const copyNpm = async (root: string): Promise<void> => {
  const modules = (await run('npm', ['root', '--global', '--no-update-notifier'])).trim()
  cpSync(realpathSync(path.join(modules, 'npm')), path.join(root, 'usr/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, path.join(root, 'usr/bin', name))
  const settings = (await run('npm', ['config', 'get', 'globalconfig'])).trim()
  if (existsSync(settings)) copyFileSync(settings, path.join(root, 'usr/etc/npmrc'))
}
