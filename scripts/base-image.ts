import { spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { read } from './support/run.js'

/**
 * Builds a base image for the Dockerfile from the Node of this machine, for machines that cannot pull images. The image
 * has Node, npm, a shell, the tools that the Dockerfile uses, and their shared libraries. Linux only.
 *
 *   tsx scripts/base-image.ts NAME
 */

const TOOLS = [
  ...['cat', 'chmod', 'chown', 'cp', 'date', 'echo', 'env', 'false', 'head', 'id', 'kill', 'ln', 'ls', 'mkdir', 'mv'],
  ...['printf', 'ps', 'pwd', 'readlink', 'rm', 'rmdir', 'sleep', 'sort', 'stat', 'tail', 'test', 'touch', 'tr', 'true'],
  ...[
    'uname',
    'wc',
    'grep',
    'sed',
    'basename',
    'cmp',
    'cut',
    'dirname',
    'expr',
    'mktemp',
    'nproc',
    'seq',
    'tee',
    'timeout',
  ],
  ...[
    'uniq',
    'whoami',
    'xargs',
    'awk',
    'base64',
    'bash',
    'curl',
    'diff',
    'etcd',
    'find',
    'getent',
    'hostname',
    'ip',
    'jq',
    'nc',
    'nslookup',
    'openssl',
    'rev',
    'sha256sum',
    'wget',
  ],
]

const OPENSSL_SETTINGS = '/etc/ssl/openssl.cnf'
const CERTIFICATES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt']

/** Links to directories below /usr, as on a system with merged /usr. */
const MERGED = { bin: 'usr/bin', sbin: 'usr/sbin', lib: 'usr/lib', lib64: 'usr/lib64' }

const main = async (name: string): Promise<void> => {
  if (process.platform !== 'linux') throw new Error('a base image can only be built on Linux')
  const root = mkdtempSync(path.join(tmpdir(), 'understudy-base-'))
  try {
    populateRoot(root)
    await importImage(root, name)
    console.log(`built the image ${name} from Node ${process.version} of this machine`)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const populateRoot = (root: string): void => {
  for (const [link, target] of Object.entries(MERGED)) {
    mkdirSync(path.join(root, target), { recursive: true })
    symlinkSync(target, path.join(root, link))
  }
  for (const directory of [
    'etc/ssl/certs',
    'usr/lib/ssl',
    'usr/etc',
    'usr/local/bin',
    'usr/lib/node_modules',
    'root',
    'proc',
    'sys',
    'dev',
  ])
    mkdirSync(path.join(root, directory), { recursive: true })
  for (const directory of ['tmp', 'var/tmp']) {
    mkdirSync(path.join(root, directory), { recursive: true })
    chmodSync(path.join(root, directory), 0o1777)
  }
  const programs = new Map([['node', process.execPath], ...['sh', ...TOOLS].flatMap(locate)])
  const missing = TOOLS.filter((name) => !programs.has(name))
  if (missing.length > 0)
    console.warn(`this machine has no ${missing.join(', ')}, so the image does not have it either`)
  for (const [name, file] of programs) install(file, path.join(root, 'usr/bin', name))
  for (const library of new Set([...programs.values()].flatMap(librariesOf))) install(library, path.join(root, library))
  installNpm(root)
  writeFiles(root)
}

const locate = (name: string): [string, string][] => {
  const found = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin']
    .map((directory) => path.join(directory, name))
    .find((file) => existsSync(file))
  return found ? [[name, found]] : []
}

const install = (from: string, to: string): void => {
  mkdirSync(path.dirname(to), { recursive: true })
  copyFileSync(realpathSync(from), to)
  chmodSync(to, 0o755)
}

/** Returns the paths of the shared libraries of a program, including its loader. */
const librariesOf = (program: string): string[] => {
  const listing = read('ldd', [realpathSync(program)]) ?? ''
  return [...listing.matchAll(/(?:=>\s+|^\s*)(\/\S+)\s+\(0x/gm)].map(([, file = '']) => file)
}

/** Copies npm, with the global settings of this machine, such as the location of its certificates. */
const installNpm = (root: string): void => {
  const modules = read('npm', ['root', '--global', '--no-update-notifier'])
  if (!modules) throw new Error('cannot find npm')
  cpSync(realpathSync(path.join(modules, 'npm')), path.join(root, 'usr/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, path.join(root, 'usr/bin', name))
  const settings = read('npm', ['config', 'get', 'globalconfig'])
  if (settings && existsSync(settings)) copyFileSync(settings, path.join(root, 'usr/etc/npmrc'))
}

const writeFiles = (root: string): void => {
  const certificates = CERTIFICATES.find((file) => existsSync(file))
  if (certificates) copyFileSync(certificates, path.join(root, 'etc/ssl/certs/ca-certificates.crt'))
  // Debian's openssl reads its configuration here. Without it, openssl cannot create certificate requests.
  if (existsSync(OPENSSL_SETTINGS)) copyFileSync(OPENSSL_SETTINGS, path.join(root, OPENSSL_SETTINGS))
  for (const name of ['openssl.cnf', 'certs']) symlinkSync(`/etc/ssl/${name}`, path.join(root, 'usr/lib/ssl', name))
  const files = {
    'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n',
    'etc/group': 'root:x:0:\nnogroup:x:65534:\n',
    // Without this file, the C library queries DNS before it reads /etc/hosts.
    'etc/nsswitch.conf': 'hosts: files dns\n',
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(root, file), text)
}

const importImage = (root: string, name: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const tar = spawn('tar', ['-C', root, '--numeric-owner', '--owner=0', '--group=0', '-c', '.'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const docker = spawn('docker', ['import', '-', name], { stdio: ['pipe', 'ignore', 'inherit'] })
    tar.stdout.pipe(docker.stdin)
    docker.stdin.on('error', () => undefined)
    for (const child of [tar, docker]) child.once('error', reject)
    tar.once('exit', (status) => (status === 0 ? undefined : reject(new Error(`tar failed with status ${status}`))))
    docker.once('exit', (status) =>
      status === 0 ? resolve() : reject(new Error(`docker import failed with status ${status}`)),
    )
  })

const [wanted = ''] = process.argv.slice(2)
if (wanted === '') throw new Error('the name of the image is missing. Usage: tsx scripts/base-image.ts NAME')
await main(wanted)
