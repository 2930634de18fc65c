import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { dataKey } from '../../src/storage/keys/raw-keys.js'
import { LevelEngine } from '../../src/storage/engine/level-engine.js'
import { initialize } from '../../src/lab/requests/replication.js'
import { Clusters } from '../support/clusters.js'
import { ANY_PORTS, localConfig } from '../support/local-config.js'
import { runProgram, TestDirectory } from '../support/program.js'

/** `understudy storage list|verify` on the directory of a running, a stopped and a damaged server. */
it('storage commands list and verify the data, and reject a running server', async () => {
  using at = new TestDirectory()
  const clusters = new Clusters()
  try {
    const cluster = await clusters.addStarted('A')
    const seal = await initialize(cluster.client, 3, 2)
    cluster.seal = seal
    await cluster.client.write('sys/mounts/kept', { type: 'kv' })
    await cluster.client.write('kept/a', { word: 'secret canary' })
    const { dataDir } = cluster
    const lock = path.join(dataDir, 'generation-1', 'LOCK')

    const busy = await runProgram(['storage', 'list', '--data-dir', dataDir])
    expect(busy.status).toBe(5)
    expect(busy.stderr).toContain(
      `a running server holds the lock ${lock} (process ${cluster.process.pid}): stop it first`,
    )
    await cluster.server.stop()

    const list = await runProgram(['storage', 'list', '--data-dir', dataDir, '--json'])
    expect(list.status).toBe(0)
    expect(list.stdout).not.toContain('canary')
    const records = JSON.parse(list.stdout) as { key: string; category: string }[]
    expect(records).toContainEqual({
      generation: 1,
      isLive: true,
      category: 'replicated',
      key: 'core/keyring',
      valueBytes: expect.any(Number),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(new Set(records.map(({ category }) => category))).toEqual(new Set(['replicated', 'local', 'ignored']))
    const table = await runProgram(['storage', 'list', '--data-dir', dataDir])
    expect(table.stdout.trim().split('\n')).toHaveLength(records.length + 1)

    const keys = at.write('keys', seal.unsealKeys.slice(0, 2).join('\n'))
    const verify = (...more: string[]) => runProgram(['storage', 'verify', '--data-dir', dataDir, ...more])
    expect(await verify()).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('not checked: specify --root-key-file'),
    })
    const opened = await verify('--unseal-key-file', keys, '--json')
    expect(opened.status, opened.stderr).toBe(0)
    expect(JSON.parse(opened.stdout)).toMatchObject({ isSound: true, values: { damaged: [] } })
    const wrong = await verify('--root-key-file', at.write('root', 'ab'.repeat(32)))
    expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining('does not decrypt the keyring')])
    expect((await verify('--unseal-key-file', at.write('few', seal.unsealKeys[0] ?? ''))).status).toBe(1)

    const damaged = records.find(({ key }) => key.startsWith('logical/'))?.key ?? ''
    const engine = await LevelEngine.open({ directory: path.dirname(lock), createIfMissing: false })
    const batch = engine.batch()
    const value = Buffer.from(engine.get(dataKey(damaged)) ?? '')
    value.writeUInt8((value.at(-1) ?? 0) ^ 1, value.length - 1)
    batch.put(dataKey(damaged), value)
    await batch.write({ isDurable: true })
    await engine.close()
    const found = await verify('--unseal-key-file', keys)
    expect(found.status).toBe(2)
    expect(found.stdout).toContain('NOT SOUND')
    expect(found.stdout).toContain(damaged)
    expect((await verify()).status, 'the tree tells without a key').toBe(2)

    const live = path.join(dataDir, 'live')
    const pointer = readFileSync(live)
    writeFileSync(live, 'nonsense\n')
    const config = at.write('server.json', JSON.stringify(configOf(dataDir)))
    const refused = await runProgram(['server', `-config=${config}`])
    expect([refused.status, refused.stderr + refused.stdout]).toEqual([1, expect.stringContaining('storage adopt')])
    expect(await verify()).toMatchObject({ status: 1, stderr: expect.stringContaining('has no live generation') })
    expect((await verify('--generation', '1')).status).toBe(2)
    expect((await runProgram(['storage', 'list', '--data-dir', dataDir])).stdout).toContain('1 (not live)')
    const adopt = (generation: string) =>
      runProgram(['storage', 'adopt', '--data-dir', dataDir, '--generation', generation])
    expect(await adopt('2')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('generation 2 does not exist'),
    })
    expect(await adopt('1')).toMatchObject({ status: 0, stdout: expect.stringContaining('generation 1 is live') })
    expect(readFileSync(live)).toEqual(pointer)
    const nowhere = await runProgram(['storage', 'verify', '--data-dir', at.path('nowhere')])
    expect([nowhere.status, nowhere.stderr]).toEqual([1, expect.stringContaining('is not a data directory')])
  } finally {
    await clusters.close()
  }
})

const configOf = (dataDir: string) => localConfig(ANY_PORTS, { storage: { file: { path: dataDir } } })
