import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findComposeProject } from '../../../../src/lab/containers/compose-project.js'

/**
 * Files from containers are not trusted. A script replaces the Docker client, and a directory replaces the container.
 * Like the client, the script copies links as links, into a directory or an archive.
 */

let home = ''
const { PATH } = process.env

const CLIENT = (root: string) => `#!/bin/sh
case "$1" in
  ps) printf 'one\\n' ;;
  inspect) cat '${root}/inspect.json' ;;
  cp)
    from='${root}/'"\${2#*:}"
    if [ "$3" = - ]; then tar -C "$(dirname "$from")" -cf - "$(basename "$from")"; else cp -a "$from" "$3"; fi ;;
esac
`

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'understudy-docker-'))
  writeFileSync(path.join(home, 'docker'), CLIENT(home))
  chmodSync(path.join(home, 'docker'), 0o755)
  mkdirSync(path.join(home, 'vault/secrets'), { recursive: true })
  const Labels = {
    'understudy.cluster': 'A',
    'understudy.tls': 'true',
    'com.docker.compose.project': 'it',
    'com.docker.compose.service': 'a',
  }
  const NetworkSettings = { Ports: { '8200/tcp': [{ HostIp: '127.0.0.1', HostPort: '8200' }] } }
  const container = { Name: '/it-a-1', Config: { Labels }, NetworkSettings, HostConfig: { PortBindings: {} } }
  writeFileSync(path.join(home, 'inspect.json'), JSON.stringify([container]))
  process.env.PATH = `${home}:${PATH}`
})

afterEach(() => {
  process.env.PATH = PATH
  rmSync(home, { recursive: true })
})

test('findComposeProject reads the CA of a container', async () => {
  writeFileSync(path.join(home, 'vault/secrets/ca.pem'), 'a certificate')
  expect((await findComposeProject(home)).caPem).toBe('a certificate')
})

test.each([
  ['a link to a file of this machine', (file: string) => symlinkSync(path.join(home, 'inspect.json'), file)],
  ['a link to an endless device', (file: string) => symlinkSync('/dev/zero', file)],
  ['a pipe', (file: string) => void execFileSync('mkfifo', [file])],
  ['larger than the limit', (file: string) => writeFileSync(file, Buffer.alloc(3 << 20, 'x'))],
  ['a directory', (file: string) => mkdirSync(file)],
])('findComposeProject ignores a CA file that is %s', async (_, make) => {
  make(path.join(home, 'vault/secrets/ca.pem'))
  expect((await findComposeProject(home)).caPem).toBeUndefined()
})
