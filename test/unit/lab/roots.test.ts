import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { findDifferentRoots, findUnconverged, type FollowView } from '../../../src/lab/status/links.js'
import { NO_STATUS, parseStatus } from '../../../src/lab/requests/replication-status.js'

const link: FollowView = {
  kind: 'performance',
  primary: 'A',
  secondary: 'C',
  state: 'stream-wals',
  connectionState: 'ready',
  lagEntries: 0,
  lagSeconds: 0,
  lastHeartbeat: '',
  faults: [],
}
const OURS = { mode: 'primary', merkle_root: 'aa', last_performance_wal: 9 }
const THEIRS = {
  mode: 'secondary',
  merkle_root: 'bb',
  state: 'stream-wals',
  connection_state: 'ready',
  last_remote_wal: 9,
}

/** Returns the findings if the survey saw two roots and both clusters respond as given when they are read again. */
const find = (ours: () => object, theirs: () => object, links = [link]) => {
  const views = [
    { name: 'A', dr: role(''), performance: role('aa') },
    { name: 'C', dr: role(''), performance: role('bb') },
  ]
  const ask = async (name: string) => parseStatus('performance', { ...(name === 'A' ? ours() : theirs()) })
  return findDifferentRoots(links, views, ask, systemClock)
}

const role = (merkleRoot: string) => ({ ...NO_STATUS, merkleRoot })

it('a root check names a secondary with every change and another root', async () => {
  expect(
    await find(
      () => OURS,
      () => THEIRS,
    ),
  ).toEqual([
    'the data of C differs from its performance primary A, although C has applied every change: the Merkle roots are bb and aa',
  ])
})

it('a root check ignores roots that differ for a moment or beside another problem', async () => {
  let written = 0
  const busy = () => {
    written += 1
    return { ...OURS, merkle_root: String(written) }
  }
  expect(await find(busy, () => THEIRS)).toEqual([])
  const answers = [THEIRS, { ...THEIRS, merkle_root: 'aa' }]
  expect(
    await find(
      () => OURS,
      () => answers.shift() ?? THEIRS,
    ),
  ).toEqual([])
  for (const other of [{ last_remote_wal: 8 }, { state: 'merkle-diff' }, { connection_state: 'connecting' }]) {
    expect(
      await find(
        () => OURS,
        () => ({ ...THEIRS, ...other }),
      ),
    ).toEqual([])
  }
  const behind = [
    { ...link, lagEntries: 2 },
    { ...link, lagEntries: null },
  ]
  expect(
    await find(
      () => OURS,
      () => THEIRS,
      behind,
    ),
  ).toEqual([])
  const gone = () => {
    throw new Error('it does not answer')
  }
  expect(await find(gone, () => THEIRS)).toEqual([])
})

it('a lab converges while clients write, when a secondary has every entry of the first status of its primary', async () => {
  let written = 0
  const busy = () => {
    written += 1
    return { ...OURS, merkle_root: String(written) }
  }
  const clusters = [
    { name: 'A', dr: NO_STATUS, performance: parseStatus('performance', OURS), problems: [] },
    { name: 'C', dr: NO_STATUS, performance: parseStatus('performance', THEIRS), problems: [] },
  ]
  const findFor = (ours: () => object) =>
    findUnconverged(clusters, [link], async (name) =>
      parseStatus('performance', { ...(name === 'A' ? ours() : THEIRS) }),
    )
  expect(await findFor(busy)).toBeUndefined()
  expect(await findFor(() => OURS)).toBe('C (performance): merkle roots differ: aa and bb')
})
