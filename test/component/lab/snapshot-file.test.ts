import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { createProcessTable } from '../../../src/lab/model/process-table.js'
import { imageFile, type Manifest, readManifest, writeManifest } from '../../../src/lab/snapshot/manifest.js'
import { keyPath } from '../../../src/lab/snapshot/stored.js'
import {
  checkSnapshot,
  packSnapshot,
  prepareSnapshot,
  removeSnapshot,
  unpackSnapshot,
} from '../../../src/lab/snapshot/snapshot-file.js'
import { findTopology } from '../../../src/lab/topology/catalogue.js'
import { checkImage, fillEngine, writeImage } from '../../../src/server/data/cluster-image.js'
import { keyIdOf, writeSealedFile } from '../../../src/base/sealed-file.js'
import { MemoryEngine } from '../../../src/storage/engine/memory-engine.js'

const SEED = 4711
const HOST = { me: { pid: process.pid, startTime: '' }, table: createProcessTable() }
let directory: string
let file: string
let target: string

const STATE = { skewMs: 5000, holds: [{ kind: 'dr', state: 'merkle-sync' }], isSealed: false }

async function* chunks() {
  const random = createSeededRandom(`${SEED}`)
  for (let chunk = 0; chunk < 3; chunk++)
    yield Array.from({ length: 50 }, (_, index) => ({
      key: `dkey ${chunk} ${index} ä`,
      value: random.bytes(index * 40),
    }))
}

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'understudy-snapshot-'))
  file = path.join(directory, 'one.snapshot')
  target = path.join(directory, 'opened')
  const topology = findTopology('single')
  if (!topology) throw new Error('no topology')
  const manifest: Manifest = {
    kind: 'LabImage',
    lab: 'one',
    topology,
    createdAt: '2026-01-01T00:00:00.000Z',
    savedAt: '2026-01-01T00:00:00.000Z',
    pausedMs: 3,
    clusters: [
      {
        name: 'A',
        rootToken: 'hvs.very-secret',
        unsealKeys: ['aabbccdd'],
        threshold: 1,
        process: 'running',
        isSealed: false,
        ports: { api: 1000, cluster: 1001 },
        formerly: { api: [], cluster: [], hidden: [] },
        streams: [],
        ...(await writeImage(path.join(directory, 'A.image'), STATE, chunks())),
      },
    ],
    faults: [],
  }
  writeManifest(directory, manifest)
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

it('unpack restores a packed snapshot, and only the key opens its secrets', async () => {
  await packSnapshot(directory, file)
  const manifest = await unpackSnapshot(file, target)
  expect(manifest).toEqual(readManifest(directory))
  expect(readFileSync(imageFile(target, 'A')).equals(readFileSync(imageFile(directory, 'A')))).toBe(true)
  expect([statSync(file).mode & 0o777, statSync(keyPath(file)).mode & 0o777]).toEqual([0o600, 0o600])
  const packed = readFileSync(file).toString('latin1')
  for (const secret of ['very-secret', 'aabbccdd', 'dkey 1 1']) expect(packed).not.toContain(secret)
  expect(readdirSync(directory).filter((name) => /new|draft/.test(name))).toEqual([])

  const image = await checkImage(imageFile(target, 'A'))
  expect(image.state).toMatchObject(STATE)
  const engine = new MemoryEngine()
  await fillEngine(engine, image.chunks)
  for await (const chunk of chunks())
    for (const { key, value } of chunk) expect(engine.get(key)?.equals(value)).toBe(true)
})

it('unpack writes nothing outside its directory, even from a file with a valid seal', async () => {
  const { clusters, ...rest } = readManifest(directory)
  for (const name of ['../outside', 'A/../../outside', '']) {
    mkdirSync(path.join(directory, 'A'), { recursive: true })
    copyFileSync(imageFile(directory, 'A'), imageFile(directory, name))
    writeManifest(directory, { ...rest, clusters: clusters.map((cluster) => ({ ...cluster, name })) })
    await packSnapshot(directory, file)
    rmSync(imageFile(directory, name))
    await expect(unpackSnapshot(file, target)).rejects.toThrow('its topology has no cluster')
    expect([existsSync(imageFile(target, name)), existsSync(target)], name).toEqual([false, false])
  }
})

it('unpack validates the topology of a snapshot like one from a file', async () => {
  const manifest = readManifest(directory)
  const [cluster] = manifest.clusters
  if (!cluster) throw new Error('no cluster')
  const { topology } = manifest
  const settings = { address_file: path.join(directory, 'precious') }
  const nodes = ['A1', 'A2', '../../outside'].map((name) => ({ ...cluster, name }))
  const odd: readonly [string, object][] = [
    ['must be one letter', { topology: { ...topology, clusters: ['A', '../../outside'] } }],
    ['cannot be set in a lab', { topology: { ...topology, plans: { A: { settings } } } }],
    [
      'no server "../../outside"',
      { topology: { ...topology, plans: { A: { nodes: 3 } } }, clusters: [{ ...cluster, nodes }] },
    ],
  ]
  for (const [text, part] of odd) {
    writeManifest(directory, { ...manifest, ...part })
    await packSnapshot(directory, file)
    await expect(unpackSnapshot(file, target)).rejects.toThrow(text)
    expect(existsSync(target)).toBe(false)
  }
})

it('unpack and check report every fault of a foreign snapshot file as an error about that file', async () => {
  const manifest = readManifest(directory)
  const [cluster] = manifest.clusters
  const random = createSeededRandom(`${SEED} hostile`)
  await packSnapshot(directory, file)
  const good = readFileSync(file)
  const key = readFileSync(keyPath(file))
  const refused = async (what: string) => {
    for (const work of [() => unpackSnapshot(file, target), () => checkSnapshot(file)]) {
      const outcome = await work().catch((error: unknown) => error)
      if (outcome instanceof Error) expect(outcome, what).toMatchObject({ name: 'LabError', message: /opened|one/ })
      expect(existsSync(target) && outcome instanceof Error, what).toBe(false)
    }
    rmSync(target, { recursive: true, force: true })
  }
  for (let round = 0; round < 150; round++) {
    const at = random.bytes(4).readUInt32BE() % good.length
    const bytes = Buffer.from(round % 3 === 0 ? good.subarray(0, at) : good)
    if (round % 3 === 1) bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (round % 8)), at)
    if (round % 3 === 2) bytes.fill(0xff, at, at + 8)
    writeFileSync(file, bytes)
    await refused(`round ${round} at ${at}`)
  }
  writeFileSync(keyPath(file), key)
  const manifests: readonly unknown[] = [
    null,
    [],
    {},
    { ...manifest, clusters: {} },
    { ...manifest, clusters: [null] },
    { ...manifest, clusters: [{ ...cluster, ports: { api: 1e300, cluster: '1' } }] },
    { ...manifest, clusters: [{ ...cluster, unsealKeys: 'x' }] },
    { ...manifest, clusters: [{ ...cluster, formerly: null }] },
    { ...manifest, clusters: [{ ...cluster, rootToken: 'a\nb' }] },
    { ...manifest, clusters: [cluster, cluster, cluster] },
    { ...manifest, topology: null },
    { ...manifest, topology: { clusters: 'A', links: 1 } },
    { ...manifest, lab: '../../x' },
    { ...manifest, faults: [{ between: ['A', 'B'], fault: { name: 'latency', ms: 1e300 } }] },
    { ...manifest, faults: 'none' },
  ]
  for (const one of manifests) {
    await sealAs(one)
    await expect(unpackSnapshot(file, target), JSON.stringify(one)).rejects.toMatchObject({ name: 'LabError' })
  }
})

/** Seals an arbitrary manifest, as the author of a forged snapshot does. */
const sealAs = async (manifest: unknown): Promise<void> => {
  const key = createSeededRandom('key').bytes(32)
  const header = { format: 'understudy-lab-snapshot', version: 1, lab: 'one', topology: 'single', clusters: ['A'] }
  const text = Buffer.from(JSON.stringify(manifest))
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(BigInt(text.length))
  const content = async function* () {
    yield Buffer.concat([length, text])
  }
  await writeSealedFile(file, { ...header, savedAt: 'now', keyId: keyIdOf(key) }, key, content())
  writeFileSync(keyPath(file), key.toString('hex'))
}

it('remove deletes snapshots and nothing else', async () => {
  await packSnapshot(directory, file)
  for (const other of [keyPath(file), directory]) {
    await expect(removeSnapshot(other), other).rejects.toMatchObject({ name: 'LabError' })
    expect(existsSync(other)).toBe(true)
  }
  await removeSnapshot(file)
  expect([file, keyPath(file)].map((one) => existsSync(one))).toEqual([false, false])
})

it('unpack rejects a file that was truncated or changed anywhere, and leaves nothing of it', {
  timeout: 60_000,
}, async () => {
  await packSnapshot(directory, file)
  const whole = readFileSync(file)
  const random = createSeededRandom(`${SEED}`)
  const offset = () => random.bytes(4).readUInt32BE() % whole.length
  const cuts = [0, 1, whole.indexOf(10) + 1, whole.length - 1, ...Array.from({ length: 40 }, offset)]
  for (const length of cuts) {
    writeFileSync(file, whole.subarray(0, length))
    await expect(unpackSnapshot(file, target), `cut to ${length}, seed ${SEED}`).rejects.toMatchObject({
      name: 'LabError',
    })
    expect(existsSync(target)).toBe(false)
    await expect(checkSnapshot(file), `cut to ${length}, seed ${SEED}`).rejects.toMatchObject({ name: 'LabError' })
  }
  for (const at of [whole.indexOf(10) + 1, whole.length - 1, ...Array.from({ length: 40 }, offset)]) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ 1
    writeFileSync(file, changed)
    await expect(unpackSnapshot(file, target), `changed at ${at}, seed ${SEED}`).rejects.toMatchObject({
      name: 'LabError',
    })
    await expect(checkSnapshot(file), `changed at ${at}, seed ${SEED}`).rejects.toMatchObject({ name: 'LabError' })
  }
  writeFileSync(file, Buffer.concat([whole, Buffer.from([0])]))
  await expect(unpackSnapshot(file, target)).rejects.toThrow('is damaged')
})

it('a check of a snapshot file keeps no data and reports a missing key', async () => {
  await packSnapshot(directory, file)
  const before = readdirSync(directory)
  expect(await checkSnapshot(file)).toBe('whole')
  expect(readdirSync(directory)).toEqual(before)
  rmSync(keyPath(file))
  expect(await checkSnapshot(file)).toBe('its key is missing')
  writeFileSync(file, readFileSync(file).subarray(0, -1))
  await expect(checkSnapshot(file)).rejects.toThrow('is damaged: it is truncated')
})

it('unpack names the format of a file that it cannot read', async () => {
  await packSnapshot(directory, file)
  const whole = readFileSync(file, 'latin1')
  const withVersion = (version: number) =>
    writeFileSync(file, whole.replace('"version":1', `"version":${version}`), 'latin1')
  withVersion(2)
  await expect(unpackSnapshot(file, target)).rejects.toThrow(
    'was written by a newer version of Understudy: its format is 2',
  )
  withVersion(0)
  await expect(unpackSnapshot(file, target)).rejects.toThrow('was written by an older version')
  writeFileSync(file, 'PK\u0003\u0004 something else entirely')
  await expect(unpackSnapshot(file, target)).rejects.toThrow('is not a snapshot of a lab')
  writeFileSync(file, '{"format":"another"}\n')
  await expect(unpackSnapshot(file, target)).rejects.toThrow('is not a snapshot of a lab')
  await expect(unpackSnapshot(path.join(directory, 'none.snapshot'), target)).rejects.toThrow('there is no snapshot')

  writeFileSync(file, whole, 'latin1')
  const other = path.join(directory, 'other.snapshot')
  await packSnapshot(directory, other)
  copyFileSync(keyPath(other), keyPath(file))
  await expect(unpackSnapshot(file, target)).rejects.toThrow(`${keyPath(file)} is not the key of ${file}`)
  rmSync(keyPath(file))
  await expect(unpackSnapshot(file, target)).rejects.toThrow(`the key of ${file} is missing`)
  expect(() => prepareSnapshot(file, { isForced: false }, HOST)).toThrow('exists; --force replaces it')
})

it('unpack checks the lab name before it creates a directory, and removes what a killed one left', () => {
  for (const name of ['bad/name', 'bad/name.snapshot']) {
    const target = path.join(directory, name)
    expect(() => prepareSnapshot(target, { isForced: false }, HOST), name).toThrow(
      /is not a snapshot file|cannot write/,
    )
  }
  expect(existsSync(path.join(directory, 'bad'))).toBe(false)
  const { pid: gone } = spawnSync(process.execPath, ['-e', ''])
  mkdirSync(path.join(directory, `.understudy-${gone}`))
  const drafts = prepareSnapshot(file, { isForced: true }, HOST)
  expect(readdirSync(directory).filter((name) => name.startsWith('.understudy-'))).toEqual([path.basename(drafts)])
})

it('a snapshot check distinguishes a complete image of a cluster from an incomplete one', async () => {
  const image = imageFile(directory, 'A')
  expect((await checkImage(image)).state).toMatchObject(STATE)
  const whole = readFileSync(image)
  const broken: [Buffer, string][] = [
    [whole.subarray(0, whole.length - 1), 'it is truncated'],
    [whole.subarray(0, 200), 'it is truncated'],
    [Buffer.concat([whole, whole]), 'it has extra bytes at the end'],
    [Buffer.from(whole.map((byte, at) => (at === whole.length - 40 ? byte ^ 1 : byte))), 'is damaged'],
    [Buffer.from('{}\n'), 'is not a cluster image'],
    [Buffer.alloc(0), 'is not a cluster image'],
  ]
  for (const [bytes, said] of broken) {
    writeFileSync(image, bytes)
    await expect(checkImage(image)).rejects.toThrow(said)
  }
})
