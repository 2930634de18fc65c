import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { type LabCluster, startLabOf } from '../../../src/index.js'
import { createDirectoryStorage } from '../../../src/server/data/server-storage.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../../support/soak.js'

/**
 * Flips one bit of one file of a stopped server. The server must then serve the written data, or state why it does not.
 */
const FLIPS = soakRounds(60)
const KEYS = 40

const TOPOLOGY = { name: 'one', about: 'one cluster', clusters: ['A'], links: [] }
const seed = soakSeed()
const root = mkdtempSync(path.join(tmpdir(), 'understudy-flips-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const storedText = (n: number) => `value-${n}-`.repeat(20)

const write = async (cluster: LabCluster, from: number, to: number) => {
  for (let n = from; n < to; n++) await cluster.client.write(`kv/key-${n}`, { value: storedText(n) })
}

/** Returns the files that contain data. The content of LevelDB's own logs and of reserved space does not matter. */
const filesOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/(^|\/)(LOG|LOG\.old|LOCK|ballast)$/.test(name))
    .filter((name) => statSync(path.join(directory, name)).isFile() && statSync(path.join(directory, name)).size > 0)

/** Returns the result of a start: a response for every key, or the reason why the server does not serve. */
const lookAt = async (cluster: LabCluster): Promise<{ refusal: string } | { wrong: string[]; refused: number }> => {
  try {
    await cluster.start()
  } catch (error) {
    return { refusal: error instanceof Error ? error.message : String(error) }
  }
  const wrong: string[] = []
  let refused = 0
  for (let n = 0; n < KEYS; n++) {
    const { status, json, bytes } = await cluster.client.send('GET', `kv/key-${n}`)
    const read = (json?.data as { value?: string } | undefined)?.value
    if (status === 200 && read === storedText(n)) continue
    const hasReason = status >= 500 && Array.isArray(json?.errors) && String(json.errors[0] ?? '') !== ''
    if (hasReason) refused++
    else wrong.push(`key-${n}: ${status} ${bytes.subarray(0, 80)}`)
  }
  return { wrong, refused }
}

const turnBits = async () => {
  console.log(`seed ${seed}`)
  const random = createSeededRandom(seed)
  const pick = (limit: number) => random.bytes(6).readUIntBE(0, 6) % limit
  const directory = path.join(root, 'data')
  await using lab = await startLabOf<'A'>(TOPOLOGY, { storage: () => createDirectoryStorage(directory) })
  await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
  // A start moves the content of the log into tables, so that both exist.
  await write(lab.A, 0, KEYS / 2)
  await lab.A.stop()
  await lab.A.start()
  await write(lab.A, KEYS / 2, KEYS)
  await lab.A.stop()
  const pristine = path.join(root, 'pristine')
  cpSync(directory, pristine, { recursive: true })
  const found = new Map<string, number>()
  const count = (what: string) => found.set(what, (found.get(what) ?? 0) + 1)
  const silent: string[] = []
  for (let flip = 0; flip < FLIPS; flip++) {
    rmSync(directory, { recursive: true, force: true })
    cpSync(pristine, directory, { recursive: true })
    const names = filesOf(directory)
    const name = names[pick(names.length)] ?? ''
    const file = path.join(directory, name)
    const bytes = readFileSync(file)
    const bit = pick(bytes.length * 8)
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    writeFileSync(file, bytes)
    const outcome = await lookAt(lab.A)
    if ('refusal' in outcome) {
      count(
        `${path.extname(name) || path.basename(name)}: refused to start: ${outcome.refusal.replaceAll(/[\d/][\w/.-]*/g, '#').slice(0, 90)}`,
      )
      if (outcome.refusal.trim() === '') silent.push(`${name} bit ${bit}: no reason`)
    } else {
      count(
        `${path.extname(name) || path.basename(name)}: ${outcome.refused > 0 ? 'refused some reads' : outcome.wrong.length > 0 ? 'WRONG' : 'served everything'}`,
      )
      silent.push(...outcome.wrong.slice(0, 2).map((text) => `${name} bit ${bit}: ${text} (${outcome.wrong.length})`))
    }
    await lab.A.stop()
  }
  console.log([...found].map(([what, times]) => `${what}: ${times}`).join('\n'))
  expect(silent).toEqual([])
}

it('a server never serves a value with a flipped bit', turnBits, soakTimeoutMs(FLIPS))
