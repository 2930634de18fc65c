import { beforeAll, expect, it } from 'vitest'
import { type Cluster, openClusters } from '../support/clusters.js'
import { drill } from '../support/drill.js'
import { checkMonitoring } from '../support/monitoring.js'
import { generationOf, infoOf, lossesOf } from '../support/own-endpoints.js'

/**
 * The primary is lost with unreplicated writes (F5). The copy is promoted. The old primary returns, learns that its
 * epoch has ended, and lists its unreplicated writes when it joins as a secondary.
 */
const UNREPLICATED = 12

const clusters = openClusters()
let A: Cluster
let B: Cluster
let rootToken = ''
let batchToken = ''

beforeAll(async () => {
  A = await clusters.add('A', { hasLink: true })
  B = await clusters.add('B', { hasLink: true })
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await clusters.join(A, B, 'dr', 'dr-b')
  rootToken = A.rootToken
  await A.client.write('sys/policies/acl/failover', {
    policy: 'path "sys/replication/dr/secondary/*" { capabilities = ["update"] }',
  })
  const batch = await A.client.write('auth/token/create', {
    policies: ['failover'],
    type: 'batch',
    ttl: '1h',
    orphan: true,
  })
  batchToken = String((batch.auth as { client_token: string }).client_token)
  await A.client.write('kv/both', { value: 'on both' })
  await clusters.untilReplicated(A, B, 'dr')
})

it('F5: the DR secondary of a lost primary is promoted', () =>
  drill('F5 unplanned failover', async (on) => {
    await checkMonitoring(on, A, B, 'dr', 'dr-b')
    on.step(`A accepts ${UNREPLICATED} writes that do not reach B any more, and is killed`)
    A.link.partition()
    for (let n = 0; n < UNREPLICATED; n++) await on.write(A, `kv/lost-${n}`, `only on A ${n}`)
    await on.ok(A, 'DELETE', 'kv/both')
    await A.server.crash()

    on.step('B notices')
    await on.wait(B, 'the link to be lost', async () => {
      const { connection_state } = await B.status('dr')
      return connection_state === 'ready' ? 'it is still ready' : undefined
    })
    const alone = await B.status('dr')
    expect(alone).toMatchObject({ mode: 'secondary', state: 'stream-wals' })
    expect(['connecting', 'transient_failure']).toContain(alone.connection_state)
    expect(alone.primaries).toEqual([expect.objectContaining({ connection_status: 'disconnected' })])

    on.step('B is promoted with the batch token')
    const startedMs = on.elapsedMs
    await on.change(B, 'dr/secondary/promote', { dr_operation_token: batchToken }, 'is being promoted')
    B.seal = { ...B.seal, rootToken }
    await B.untilServes()
    await on.write(B, 'kv/after', 'written on B after the loss')
    on.note(`forced: ${Math.round(on.elapsedMs - startedMs)} ms from promote to the first accepted write`)
    expect(await on.status(B, 'dr', { mode: 'primary', state: 'running' })).toMatchObject({ known_secondaries: [] })
    expect(await on.read(B, 'kv/both')).toBe('on both')
    expect(await on.read(B, 'kv/lost-0')).toBeUndefined()
  }))

it('F5: the old primary is fenced when it returns', () =>
  drill('F5 the old primary returns', async (on) => {
    on.step('A starts again and says, as in reality, that it is primary')
    A.link.clearFaults()
    await A.reopen()
    const back = await on.status(A, 'dr', { mode: 'primary' })
    expect(back).toMatchObject({ state: 'running', known_secondaries: ['dr-b'] })
    await on.status(B, 'dr', { mode: 'primary' })

    on.step('B tells it of the newer epoch: it fences itself, and goes on serving clients')
    await on.wait(A, 'to be fenced', async () => ((await infoOf(on, A)).fenced ? undefined : 'it is not fenced'))
    await on.write(A, 'kv/fenced', 'accepted by the fenced A')
    const { fenced, epoch } = await infoOf(on, A)
    expect(fenced).toMatchObject({ epoch, by_epoch: (await infoOf(on, B)).epoch })
    const { accepted } = fenced as { accepted: { path: string; operation: string }[] }
    expect(pathsOf(accepted)).toEqual(lostPaths(['put kv/data/fenced']))
    expect(await on.read(B, 'kv/fenced')).toBeUndefined()
  }))

it('F5: the old primary lists exactly the lost entries when it rejoins', () =>
  drill('F5 rejoin and losses', async (on) => {
    const generation = await generationOf(on, A)
    const lostEpoch = (await infoOf(on, A)).epoch
    await on.change(A, 'dr/primary/demote', {}, 'is being demoted')
    await on.health(A, 472)
    const token = await on.token(B, 'dr', 'dr-a')
    const operation = await on.ceremony(A)
    await on.change(
      A,
      'dr/secondary/update-primary',
      { dr_operation_token: operation, token },
      'has successfully found',
    )
    A.seal = { ...A.seal, rootToken: '' }
    await checkMonitoring(on, B, A, 'dr', 'dr-a')
    expect(await generationOf(on, A), 'nothing is wiped').toBe(generation)

    on.step('the list equals the truth')
    const [loss, ...more] = await lossesOf(on, A)
    expect(more).toEqual([])
    expect(loss?.epoch).toBe(lostEpoch)
    expect(loss?.reason).toContain('not replicated before the failover')
    expect(pathsOf(loss?.entries ?? [])).toEqual(lostPaths(['put kv/data/fenced']))
    const indexes = loss?.entries.map(({ index }) => index) ?? []
    expect(indexes.every((index) => index >= Number(loss?.first_index) && index <= Number(loss?.last_index))).toBe(true)
    expect(indexes).toEqual([...indexes].sort((a, b) => a - b))

    on.step('a restart keeps it')
    await A.server.crash()
    await A.reopen()
    expect(await lossesOf(on, A)).toEqual([loss])
    await checkMonitoring(on, B, A, 'dr', 'dr-a')
  }))

it('F5: disabling both kinds also ends the role of the old primary', () =>
  drill('F5 disable instead of demote', async (on) => {
    on.step('A is lost once more, as the primary that it becomes for it')
    const operation = await on.ceremony(A)
    await on.change(B, 'dr/primary/demote', {}, 'is being demoted')
    await on.change(A, 'dr/secondary/promote', { dr_operation_token: operation }, 'is being promoted')
    A.seal = { ...A.seal, rootToken }
    await A.untilServes()
    expect(await on.read(A, 'kv/after')).toBe('written on B after the loss')
    expect(await on.read(A, 'kv/lost-0')).toBeUndefined()
    await on.change(A, 'performance/primary/enable', {}, 'is being enabled')
    await A.untilServes()
    await on.change(A, 'dr/primary/disable', {}, 'is having replication disabled')
    await A.untilServes()
    await on.change(A, 'performance/primary/disable', {}, 'is having replication disabled')
    await A.untilServes()
    const status = await on.ok(A, 'GET', 'sys/replication/status')
    expect(status.data).toEqual({ dr: { mode: 'disabled' }, performance: { mode: 'disabled' } })
    expect(await on.read(A, 'kv/after'), 'disabling keeps data').toBe('written on B after the loss')

    on.step('joining later wipes')
    const promote = { dr_operation_token: await on.ceremony(B) }
    await on.change(B, 'dr/secondary/promote', promote, 'is being promoted')
    B.seal = { ...B.seal, rootToken }
    await B.untilServes()
    await on.write(A, 'kv/only-a', 'gone with the wipe')
    const generation = await generationOf(on, A)
    const token = await on.token(B, 'dr', 'dr-a2')
    await on.change(A, 'dr/secondary/enable', { token }, 'has successfully found')
    A.seal = { ...A.seal, rootToken: '' }
    await on.health(A, 472)
    await checkMonitoring(on, B, A, 'dr', 'dr-a2')
    expect(await generationOf(on, A)).toBeGreaterThan(generation)
  }))

/** Returns the storage paths, with the path of the mount, of the entries that only A had. */
const lostPaths = (more: readonly string[]): string[] => [
  ...Array.from({ length: UNREPLICATED }, (_, n) => `put kv/data/lost-${n}`),
  'delete kv/data/both',
  ...more,
]

const pathsOf = (entries: readonly { readonly path: string; readonly operation: string }[]): string[] =>
  entries.map(({ path, operation }) => `${operation} ${path}`)
