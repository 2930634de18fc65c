import { execFileSync } from 'node:child_process'
import { openSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { Clusters } from '../support/clusters.js'
import { ANY_PORTS, localConfig } from '../support/local-config.js'
import { runProgram, TestDirectory } from '../support/program.js'
import { until } from '../support/until.js'

/** Damage of a running server's files, and of the files of a killed server. */
const configOf = (dataDir: string) => localConfig(ANY_PORTS, { storage: { file: { path: dataDir } } })

it('merkle-check reports keys lost through a flipped bit, and a reindex does not accept the loss', async () => {
  const clusters = new Clusters()
  try {
    const cluster = await clusters.add('A')
    await cluster.client.write('sys/mounts/kept', { type: 'kv' })
    await cluster.client.write('kept/a', { word: 'acknowledged' })
    await clusters.makePrimary(cluster, 'dr')
    // A start writes the log into a table.
    await cluster.server.crash()
    await cluster.reopen()
    await cluster.untilServes()
    const generation = path.join(cluster.dataDir, 'generation-1')
    const table = readdirSync(generation).find((name) => name.endsWith('.ldb')) ?? ''
    const check = () => cluster.client.send('POST', 'sys/replication/merkle-check', {})
    expect((await check()).json).toMatchObject({
      warnings: null,
      data: { merkle_corruption_report: { corrupted_root: false } },
    })

    const bytes = readFileSync(path.join(generation, table))
    // The offset of the block index, with which keys are found.
    const file = openSync(path.join(generation, table), 'r+')
    const at = bytes.length - 200
    writeSync(file, Buffer.from([bytes.readUInt8(at) ^ 1]), 0, 1, at)
    const found = await check()
    expect(found.status).toBe(200)
    expect(found.json).toMatchObject({
      warnings: [expect.stringContaining(table)],
      data: { merkle_corruption_report: { corrupted_root: true } },
    })
    const reindex = async () => {
      expect((await cluster.client.send('POST', 'sys/replication/reindex', {})).status).toBe(200)
      await until(async () => (await cluster.status('dr')).reindex_in_progress === undefined)
      return cluster.status('dr')
    }
    expect(await reindex()).toMatchObject({ corrupted_merkle_tree: true, last_reindex_epoch: '0' })
    writeSync(file, Buffer.from([bytes.readUInt8(at)]), 0, 1, at)
    expect(await reindex()).toMatchObject({ corrupted_merkle_tree: false })
  } finally {
    await clusters.close()
  }
})

it('the command in the error discards a log frame whose file is missing or replaced by a pipe', async () => {
  using at = new TestDirectory()
  const clusters = new Clusters()
  try {
    const cluster = await clusters.add('A')
    await cluster.client.write('sys/mounts/kept', { type: 'kv' })
    const word = 'x'.repeat(3 << 19)
    await cluster.client.write('kept/large', { word })
    await cluster.client.write('kept/small', { word: 'small' })
    await cluster.server.crash()
    const { dataDir } = cluster
    const generation = path.join(dataDir, 'generation-1')
    // The value itself, and the log frame that contains it.
    const values = readdirSync(generation).filter((name) => name.endsWith('.value'))
    expect(values).toHaveLength(2)
    const frame = values.sort().at(-1) ?? ''
    const config = at.write('server.json', JSON.stringify(configOf(dataDir)))
    const requireRefused = async () => {
      const refused = await runProgram(['server', `-config=${config}`])
      expect([refused.status, refused.stderr + refused.stdout]).toEqual([
        1,
        expect.stringMatching(new RegExp(`${frame}.*storage adopt --force`, 's')),
      ])
    }
    const adopt = (...more: string[]) =>
      runProgram(['storage', 'adopt', '--data-dir', dataDir, '--generation', '1', ...more])
    rmSync(path.join(generation, frame))
    await requireRefused()
    execFileSync('mkfifo', [path.join(generation, frame)])
    await requireRefused()
    expect(await adopt()).toMatchObject({ status: 1, stderr: expect.stringMatching(/This loses no data.*--force/) })
    await requireRefused()
    expect(await adopt('--force')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('its log was discarded up to index'),
    })
    await cluster.reopen()
    await cluster.untilServes()
    expect((await cluster.client.read('kept/large')).data).toEqual({ word })
    expect((await cluster.client.read('kept/small')).data).toEqual({ word: 'small' })
  } finally {
    await clusters.close()
  }
})

it('a server with a truncated log does not start, instead of reporting that it is not initialized', async () => {
  using at = new TestDirectory()
  const clusters = new Clusters()
  try {
    const cluster = await clusters.add('A')
    await cluster.client.write('sys/mounts/kept', { type: 'kv' })
    await cluster.server.crash()
    const { dataDir } = cluster
    const generation = path.join(dataDir, 'generation-1')
    const log = path.join(generation, readdirSync(generation).find((name) => name.endsWith('.log')) ?? '')
    const whole = readFileSync(log)
    const config = at.write('server.json', JSON.stringify(configOf(dataDir)))
    const names = readdirSync(generation)
    const copy = names.map((name) => [name, readFileSync(path.join(generation, name))] as const)
    for (const length of [0, 500, whole.length >> 1, whole.length - 1]) {
      for (const name of readdirSync(generation)) rmSync(path.join(generation, name))
      for (const [name, bytes] of copy) writeFileSync(path.join(generation, name), bytes)
      truncateSync(log, length)
      for (let times = 0; times < 2; times++) {
        const refused = await runProgram(['server', `-config=${config}`])
        expect([refused.status, refused.stderr + refused.stdout], `cut to ${length}`).toEqual([
          1,
          expect.stringMatching(/the data has lost its latest commits.*storage adopt/),
        ])
      }
    }
    const adopt = (...more: string[]) =>
      runProgram(['storage', 'adopt', '--data-dir', dataDir, '--generation', '1', ...more])
    expect((await adopt()).stdout).toContain('generation 1 is live')
    await cluster.server.start()
    expect((await cluster.client.read('sys/seal-status')).initialized).toBe(true)
  } finally {
    await clusters.close()
  }
})
