import { createPublicKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { systemClock } from '../../../../src/base/clock.js'
import { createSeededRandom } from '../../../../src/base/random.js'
import { exportKubernetes } from '../../../../src/lab/export/kubernetes.js'
import { requireTopology } from '../../../../src/lab/topology/catalogue.js'
import type { ClusterPlan } from '../../../../src/lab/model/topology.js'
import { loadServerConfig } from '../../../../src/server/config/server-config.js'
import { parseTopology } from '../../../../src/lab/topology/parse.js'

/**
 * The generated objects, checked with the schema that Kubernetes publishes: types, required fields and choices, by the
 * validators of `kubernetes-models`. The compiler checks that no field is unknown.
 */

interface Loose {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data?: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: objects of nine kinds, of which each test knows its own
  readonly spec?: any
}

type Model = new (data: Loose) => { validate(): void }

/** Imported by a computed name, because the types of that package violate the rules of this project. */
const validate = async (object: Loose): Promise<void> => {
  const name = `kubernetes-models/${object.apiVersion}/${object.kind}`
  const { [object.kind]: Model } = (await import(/* @vite-ignore */ name)) as Record<string, Model>
  if (!Model) throw new Error(`there is no ${object.kind} of ${object.apiVersion}`)
  new Model(object).validate()
}

const exportObjects = async (name: string, plan?: ClusterPlan): Promise<Loose[]> => {
  const random = createSeededRandom('kubernetes')
  const options = { image: 'understudy', prefix: 'lab', namespace: 'tests', random, nowMs: systemClock.now() }
  const known = requireTopology(name)
  const topology = plan ? { ...known, plans: Object.fromEntries(known.clusters.map((one) => [one, plan])) } : known
  const documents = parseAllDocuments(await exportKubernetes({ topology }, options))
  return documents.map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS() as Loose
  })
}

const objects = await exportObjects('pr-dr')
const find = (kind: string, name: string, all = objects) => {
  const found = all.find((object) => object.kind === kind && object.metadata.name === name)
  if (!found) throw new Error(`there is no ${kind} ${name}`)
  return found
}
const containerOf = (object: Loose) => object.spec.template.spec.containers[0]

describe('objects of Kubernetes', () => {
  it.each(['single', 'pr-dr', 'filtered', 'six'])('Kubernetes objects of %s match their schema', async (topology) => {
    for (const object of await exportObjects(topology)) {
      await expect(validate(object), `${object.kind} ${object.metadata.name}`).resolves.toBeUndefined()
      expect(object.metadata.namespace).toBe('tests')
    }
  })

  it('the Kubernetes schema rejects a wrong type and a missing required field', async () => {
    const set = find('StatefulSet', 'lab-a')
    await expect(validate({ ...set, spec: { ...set.spec, replicas: 'one' } })).rejects.toThrow('integer')
    const { selector: _, ...spec } = set.spec
    await expect(validate({ ...set, spec })).rejects.toThrow('selector')
  })

  it('the Kubernetes objects mount, request and select only objects that exist', () => {
    const names = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    for (const object of objects.filter(({ spec }) => spec?.template)) {
      const { volumes, containers } = object.spec.template.spec
      const claims = (object.spec.volumeClaimTemplates ?? []).map((claim: Loose) => claim.metadata.name)
      for (const { configMap, persistentVolumeClaim } of volumes) {
        if (configMap) expect(names).toContain(`ConfigMap ${configMap.name}`)
        if (persistentVolumeClaim) expect(names).toContain(`PersistentVolumeClaim ${persistentVolumeClaim.claimName}`)
      }
      const mounted = [...volumes.map(({ name }: { name: string }) => name), ...claims]
      for (const { name } of containers[0].volumeMounts) expect(mounted).toContain(name)
      if (object.spec.selector)
        expect(object.spec.template.metadata.labels).toMatchObject(object.spec.selector.matchLabels)
    }
    const podLabels = objects
      .filter(({ kind }) => kind === 'StatefulSet')
      .map(({ spec }) => spec.template.metadata.labels)
    for (const { spec } of objects.filter(({ kind }) => kind === 'Service'))
      expect(
        podLabels.filter((labels) => Object.entries(spec.selector).every(([k, v]) => labels[k] === v)),
      ).toHaveLength(1)
  })

  it('the Kubernetes probes report a DR secondary as alive and not ready', () => {
    const { livenessProbe, readinessProbe } = containerOf(find('StatefulSet', 'lab-b'))
    expect(livenessProbe.httpGet.path).toContain('drsecondarycode=200')
    expect(readinessProbe.httpGet.path).toBe('/v1/sys/health')
    expect(find('Service', 'lab-b').spec.publishNotReadyAddresses).toBe(true)
    expect(find('Service', 'lab-b-active').spec.publishNotReadyAddresses).toBeUndefined()
  })

  it('each server of the Kubernetes export has its own key, and none in the open', () => {
    const keys = Object.values(find('Secret', 'lab-seal').data ?? {})
    expect(new Set(keys).size).toBe(3)
    for (const key of keys) {
      const text = Buffer.from(key, 'base64').toString()
      expect(Buffer.from(text, 'base64')).toHaveLength(32)
      for (const { kind, data } of objects) if (kind === 'ConfigMap') expect(JSON.stringify(data)).not.toContain(text)
    }
    expect(containerOf(find('StatefulSet', 'lab-c')).env).toContainEqual({
      name: 'SEAL_KEY',
      valueFrom: { secretKeyRef: { name: 'lab-seal', key: 'C' } },
    })
  })

  it('the Kubernetes export contains configurations that servers accept', () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
    try {
      writeFileSync(path.join(directory, 'server.hcl'), find('ConfigMap', 'lab-b').data?.['server.hcl'] ?? '')
      const key = Buffer.from(find('Secret', 'lab-seal').data?.B ?? '', 'base64').toString()
      const { problems, warnings, config } = loadServerConfig([`-config=${directory}`], { SEAL_KEY: key })
      expect([problems, warnings, config?.seal.type]).toEqual([[], [], 'auto'])
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it('the Kubernetes export is wired as a topology with auto-unseal', () => {
    const text = find('ConfigMap', 'lab-topology').data?.['topology.yaml'] ?? ''
    const { plans } = parseTopology(text, 'topology.yaml')
    expect(Object.values(plans ?? {}).map(({ seal }) => seal?.type)).toEqual(['auto', 'auto', 'auto'])
    expect(containerOf(find('Job', 'lab-wire')).args).toContain('B=http://lab-b:8200')
  })

  it('the Kubernetes export makes the nodes of a cluster replicas that know their names and join', async () => {
    const all = await exportObjects('dr', { nodes: 3, tls: true })
    for (const object of all) await expect(validate(object), object.kind).resolves.toBeUndefined()
    const set = find('StatefulSet', 'lab-b', all)
    // Not in sequence: the other pods would start only when the first one is ready, which requires a majority and the
    // wiring.
    expect(set.spec).toMatchObject({ replicas: 3, podManagementPolicy: 'Parallel', serviceName: 'lab-b' })
    expect(find('Service', 'lab-b', all).spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
    const { env, readinessProbe, livenessProbe } = containerOf(set)
    // On a DR secondary, neither the active node nor a standby serves clients.
    expect(readinessProbe.httpGet.path).toBe('/v1/sys/health?standbyok=true&perfstandbyok=true')
    expect(livenessProbe.httpGet.path).toContain('drsecondarycode=200')
    const variables = Object.fromEntries(env.map(({ name, value }: { name: string; value?: string }) => [name, value]))
    const told = (name: string) => variables[name].replace('$(POD)', 'lab-b-1')
    const wire = containerOf(find('Job', 'lab-wire', all))
    expect(wire.args).toEqual(
      expect.arrayContaining(['B2=https://lab-b-1.lab-b:8200', 'A1=https://lab-a-0.lab-a:8200']),
    )
    const { 'cert.pem': pem = '' } = find('Secret', 'lab-tls', all).data ?? {}
    const certificate = new X509Certificate(Buffer.from(pem, 'base64'))
    expect(certificate.checkHost('lab-b-1.lab-b')).toBe('lab-b-1.lab-b')

    const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
    try {
      for (const [name, value] of Object.entries(find('Secret', 'lab-tls', all).data ?? {}))
        writeFileSync(path.join(directory, name), Buffer.from(value, 'base64'))
      const text = find('ConfigMap', 'lab-b', all).data?.['server.hcl'] ?? ''
      writeFileSync(path.join(directory, 'server.hcl'), text.replaceAll('/vault/tls', directory))
      const names = ['VAULT_RAFT_NODE_ID', 'VAULT_API_ADDR', 'VAULT_CLUSTER_ADDR']
      const sealKey = Buffer.from(find('Secret', 'lab-seal', all).data?.B ?? '', 'base64').toString()
      const { problems, warnings, config } = loadServerConfig([`-config=${directory}`], {
        SEAL_KEY: sealKey,
        ...Object.fromEntries(names.map((name) => [name, told(name)])),
      })
      expect([problems, warnings]).toEqual([[], []])
      expect(config).toMatchObject({
        apiAddress: 'https://lab-b-1.lab-b:8200',
        clusterAddress: 'https://lab-b-1.lab-b:8201',
        storage: { nodeId: 'lab-b-1' },
      })
      expect(JSON.stringify(config?.storage.retryJoin)).toContain('https://lab-b-0.lab-b:8200')
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })

  it('the Kubernetes export has a certificate for its Services if the topology has TLS', async () => {
    const all = await exportObjects('dr', { tls: true })
    for (const object of all) await expect(validate(object), object.kind).resolves.toBeUndefined()
    const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
    try {
      const { 'ca.pem': ca = '', 'key.pem': key = '', ...rest } = find('Secret', 'lab-tls', all).data ?? {}
      const certificate = new X509Certificate(Buffer.from(rest['cert.pem'] ?? '', 'base64'))
      for (const name of ['lab-a', 'lab-b-active', 'lab-b.tests.svc', 'localhost'])
        expect(certificate.checkHost(name), name).toBe(name)
      expect(certificate.verify(createPublicKey(Buffer.from(ca, 'base64')))).toBe(true)

      const { containers, volumes } = find('StatefulSet', 'lab-b', all).spec.template.spec
      expect(containers[0].readinessProbe.httpGet).toMatchObject({ scheme: 'HTTPS' })
      expect(containers[0].volumeMounts).toContainEqual({ name: 'tls', mountPath: '/vault/tls', readOnly: true })
      expect(volumes).toContainEqual({ name: 'tls', secret: { secretName: 'lab-tls', defaultMode: 0o440 } })
      const wire = find('Job', 'lab-wire', all).spec.template.spec
      expect(wire.containers[0].args).toEqual(
        expect.arrayContaining(['--ca-cert', '/vault/tls/ca.pem', 'B=https://lab-b:8200']),
      )
      expect(JSON.stringify(wire.volumes)).not.toContain('key.pem')

      const text = find('ConfigMap', 'lab-b', all).data?.['server.hcl'] ?? ''
      for (const [name, value] of Object.entries({ ...rest, 'key.pem': key }))
        writeFileSync(path.join(directory, name), Buffer.from(value, 'base64'))
      writeFileSync(path.join(directory, 'server.hcl'), text.replaceAll('/vault/tls', directory))
      const sealKey = Buffer.from(find('Secret', 'lab-seal', all).data?.B ?? '', 'base64').toString()
      const { problems, config } = loadServerConfig([`-config=${directory}`], { SEAL_KEY: sealKey })
      expect([problems, config?.listeners[0]?.tls !== undefined]).toEqual([[], true])
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
