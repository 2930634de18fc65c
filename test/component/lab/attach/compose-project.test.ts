import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

test('findComposeProject finds the published ports of the lab daemon', async () => {
  const [server] = JSON.parse(readFileSync(path.join(home, 'inspect.json'), 'utf8')) as object[]
  const labels = { 'com.docker.compose.project': 'it', 'com.docker.compose.service': 'links' }
  const published = (port: string) => [{ HostIp: '0.0.0.0', HostPort: port }]
  const ports = { '8475/tcp': published('9001'), '8474/tcp': published('9002') }
  const links = { Name: '/it-links-1', Config: { Labels: labels }, NetworkSettings: { Ports: ports }, HostConfig: {} }
  writeFileSync(path.join(home, 'inspect.json'), JSON.stringify([server, links]))
  const { containers, keeper } = await findComposeProject(home)
  expect([...containers.keys()]).toEqual(['A'])
  expect(keeper).toEqual({ socket: 'http://127.0.0.1:9001', toxiproxyPort: 9002 })
})
