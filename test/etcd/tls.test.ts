import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { createAuthority, issueCertificate } from '../../src/crypto/certificates.js'
import { certificatePem, privateKeyPem } from '../../src/crypto/pem.js'
import { type PortPair, randomPorts } from '../../src/lab/model/ports.js'
import { EtcdProcess } from '../support/etcd.js'
import { etcdConfig, NodeProcess, portsOf } from '../support/node-processes.js'
import { TestNodes } from '../support/nodes.js'

/** Servers over an etcd that requires client certificates. */

/** Writes the certificates of a new authority and a certificate for this machine to files. */
const makeFiles = async (name: string) => {
  const directory = mkdtempSync(path.join(tmpdir(), `understudy-tls-${name}-`))
  onTestFinished(async () => rmSync(directory, { recursive: true, force: true }))
  const nowMs = systemClock.now()
  const authority = await createAuthority({ name, nowMs })
  const issued = await issueCertificate(authority, { name: 'localhost', otherHosts: ['127.0.0.1'], nowMs })
  const write = (file: string, text: string) => {
    writeFileSync(path.join(directory, file), text, { mode: 0o600 })
    return path.join(directory, file)
  }
  return {
    ca: write('ca.pem', certificatePem(authority.certificate)),
    certificate: write('certificate.pem', certificatePem(issued.certificate)),
    privateKey: write('key.pem', privateKeyPem(issued.privateKey)),
  }
}

const nodeWith = (name: string, ports: ReadonlyMap<string, PortPair>, storage: object): NodeProcess => {
  const pair = portsOf(ports, name)
  const node = new NodeProcess({ name, ports: pair }, (dataDir) => etcdConfig(pair, dataDir, storage))
  onTestFinished(() => node.destroy())
  return node
}

test('nodes and etcd verify the certificates of each other', async () => {
  const files = await makeFiles('etcd-authority')
  const others = await makeFiles('another-authority')
  const tls = ['--trusted-ca-file', files.ca, '--cert-file', files.certificate, '--key-file', files.privateKey]
  const etcd = await EtcdProcess.prepare('https', '--client-cert-auth', ...tls)
  onTestFinished(() => etcd.destroy())
  await etcd.run()
  const ports = await randomPorts(['A', 'B', 'S', 'U', 'X', 'Y', 'Z'])
  const address = `https://${etcd.address}`
  const own = { tls_cert_file: files.certificate, tls_key_file: files.privateKey }
  const storage = { address, tls_ca_file: files.ca, ...own }
  const nodes = new TestNodes(['A', 'B'].map((name) => nodeWith(name, ports, storage)))
  for (const node of nodes.all) await node.start()
  await nodes.open()
  const first = await nodes.active()
  await nodes.clientOf(first).call('POST', 'sys/mounts/kv', { body: { type: 'kv' } })
  await nodes.clientOf(first).call('PUT', 'kv/it', { body: { value: 'kept' } })
  await first.crash()
  const second = await nodes.active()
  expect((await nodes.clientOf(second).send('GET', 'kv/it')).json?.data).toEqual({ value: 'kept' })

  process.env.SSL_CERT_FILE = files.ca
  const trusting = nodeWith('S', ports, { address, ...own }).start()
  delete process.env.SSL_CERT_FILE
  await trusting

  const refused = {
    U: { address, ...own },
    X: { address, tls_ca_file: files.ca },
    Y: { address, tls_ca_file: files.ca, tls_cert_file: others.certificate, tls_key_file: others.privateKey },
    Z: { address, tls_ca_file: others.ca, ...own },
  }
  for (const [name, given] of Object.entries(refused)) {
    await expect(nodeWith(name, ports, given).start(), name).rejects.toThrow('cannot be used')
  }
})
