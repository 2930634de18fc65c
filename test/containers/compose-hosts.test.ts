import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { findCompose } from '../../scripts/support/docker.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { LabHome } from '../support/lab-home.js'
import { IMAGE } from './image.js'

/**
 * An export for two machines. Two addresses of this machine represent them, because both are other hosts to a
 * container.
 */

/** The address of this machine in the bridge network. Docker may not report the gateway before the first container. */
const bridgeAddress = (() => {
  const format = '{{(index .IPAM.Config 0).Subnet}}'
  const { stdout } = spawnSync('docker', ['network', 'inspect', 'bridge', '--format', format], { encoding: 'utf8' })
  return /^(\d+\.\d+\.\d+)\.0\//.exec(stdout)?.[1]?.concat('.1') ?? ''
})()
const others = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ family, internal, address }) => family === 'IPv4' && !internal && address !== bridgeAddress)
  .map(({ address }) => address)
const hosts = [bridgeAddress, ...others].filter((host) => host !== '')

describe.skipIf(hosts.length < 2)('compose files for two machines', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-hosts-'))
  const [one = '', two = ''] = hosts
  const compose = (host: string, ...args: string[]) => {
    const [command, ...first] = findCompose() ?? ['docker-compose']
    const cwd = path.join(directory, host)
    const project = `${path.basename(directory).toLowerCase()}-${host.replaceAll('.', '-')}`
    const { status, stdout, stderr } = spawnSync(command, [...first, '-p', project, ...args], { cwd, encoding: 'utf8' })
    return { status, stdout: stdout.trim(), text: `${stdout}${stderr}` }
  }

  afterAll(() => {
    for (const host of [one, two]) compose(host, 'down', '--volumes', '--timeout', '20')
    rmSync(directory, { recursive: true, force: true })
  })

  it('compose files for two machines replicate over the network after the first file runs', async () => {
    await using home = new LabHome()
    const ports = await randomPorts(['A', 'B'])
    const clusterLine = (name: string) => `${name}: { ports: { api: ${ports.get(name)?.api} } }`
    const file = path.join(directory, 'topology.yaml')
    const links = 'links: [{ kind: dr, primary: A, secondary: B }]'
    const head = ['apiVersion: understudy/v1', 'kind: Topology', 'name: two-machines']
    writeFileSync(file, [...head, 'clusters:', `  ${clusterLine('A')}`, `  ${clusterLine('B')}`, links, ''].join('\n'))
    const hostMap = `A=${one},B=${two}`
    const exported = await home.run(
      ...['compose', 'export', '-f', file, '--hosts', hostMap, '--image', IMAGE, '--out', directory],
    )
    expect(exported.status, exported.stderr).toBe(0)

    for (const host of [one, two]) {
      const up = compose(host, 'up', '-d')
      expect(up.status, up.text).toBe(0)
    }
    const wire = compose(one, 'ps', '-a', '-q', 'wire').stdout || compose(one, 'ps', '-q', 'wire').stdout
    const { stdout } = spawnSync('docker', ['wait', wire], { encoding: 'utf8' })
    expect(stdout.trim(), compose(one, 'logs', '--no-color', 'wire').text).toBe('0')

    const addresses = [`A=http://${one}:${ports.get('A')?.api}`, `B=http://${two}:${ports.get('B')?.api}`]
    expect((await home.run('attach', 'machines', ...addresses)).status).toBe(0)
    const waited = await home.run('wait', '--for', 'converged', '--name', 'machines')
    expect(waited.status, waited.stderr).toBe(0)
  })
})
