import { LogicalError } from '../../src/logical/errors.js'
import { compareEpochs, type EpochChain, isOvertakenBy } from '../../src/replication/model/epoch.js'
import type { OpenCluster } from '../../src/server/wiring/open-cluster.js'
import type { Runtime } from '../../src/server/runtime/runtime.js'
import { findVersion } from '../../src/secrets/kv/data.js'
import { KEYS } from '../../src/storage/keys/key-families.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import type { Store } from '../../src/storage/store/store.js'
import { PromiseJudge } from './promises.js'
import type { Registers } from './registers.js'
import type { Member, World } from './world.js'

/** Short enough to see each step that a resync writes. */
const PAUSE_MS = 10

/** Checks every cluster every few milliseconds until `isOver`, for defects that last only a moment. */
export const watch = async (world: World, registers: Registers, isOver: () => boolean): Promise<void> => {
  const judges = world.members.flatMap((member) => [
    new EpochJudge(world, member),
    new PairJudge(world, member, registers),
    new PromiseJudge(world, member),
  ])
  const positions = world.members.map((member) => new PositionJudge(world, member))
  while (!isOver()) {
    await world.clock.sleep(PAUSE_MS)
    for (const judge of judges) judge.check()
    for (const judge of positions) await judge.check()
  }
}

/** A secondary that begins to follow an epoch names a position with the hash that the log of its primary has there. */
class PositionJudge {
  readonly #world: World
  readonly #member: Member
  /** The epoch of the last judged position. */
  #epoch = ''

  constructor(world: World, member: Member) {
    this.#world = world
    this.#member = member
  }

  async check(): Promise<void> {
    const position = this.#member.cluster.server?.runtime?.store.remotePosition
    if (!position || position.epoch === this.#epoch) return
    const primary = this.#world.members.find((member) => writesIn(member, position.epoch))
    const store = primary?.cluster.server?.runtime?.store
    if (!primary || !store) return
    this.#epoch = position.epoch
    const hash = await hashAt(store, position.index)
    if (hash && !hash.equals(position.hash))
      this.#world.fail(
        `${this.#member.name} follows at ${position.index}, where the log of ${primary.name} has another hash`,
      )
  }
}

/** True for a primary of one server whose log is of this epoch. */
const writesIn = ({ cluster }: Member, epoch: string): boolean => {
  const runtime = cluster.server?.runtime
  const records = runtime?.cluster?.replication.replication.context.roles.records
  if (!runtime || !records || cluster.hasNodes || runtime.store.epoch !== epoch) return false
  return records.dr.mode === 'primary' || (records.dr.mode === 'disabled' && records.performance.mode === 'primary')
}

/** The hash of the frame that ends at this index; undefined if the log has none, or cannot be read now. */
const hashAt = async (store: Store, index: number): Promise<Buffer | undefined> => {
  const { position } = store
  if (position.index === index) return position.hash
  const frames = await store.framesAfter(index - 1, 1).catch(() => undefined)
  return frames?.find(({ lastIndex }) => lastIndex === index)?.hash
}

/** Checks that a follower never returns to a primary that its current primary has overtaken. */
class EpochJudge {
  readonly #world: World
  readonly #member: Member
  readonly #followed = new Map<Kind, { readonly setId: string; readonly epochs: EpochChain }>()

  constructor(world: World, member: Member) {
    this.#world = world
    this.#member = member
  }

  check(): void {
    const roles = this.#member.cluster.server?.runtime?.cluster?.replication.replication.context.roles
    if (!roles) return
    for (const kind of ['dr', 'performance'] as const) {
      const record = roles.record(kind)
      if (record.mode !== 'secondary' || !record.hasFollowed) {
        this.#followed.delete(kind)
        continue
      }
      const { setId, epochs } = record
      const before = this.#followed.get(kind)
      if (before?.epochs === epochs) continue
      this.#followed.set(kind, { setId, epochs })
      if (before?.setId !== setId || compareEpochs(before.epochs, epochs) === 'same') continue
      if (!isOvertakenBy(before.epochs, epochs))
        this.#world.fail(
          `${this.#member.name} goes back from epoch ${before.epochs.at(-1)?.number} to ${epochs.at(-1)?.number}`,
        )
    }
  }
}

/** Checks that a server that serves reads during a resync shows each transaction completely. */
class PairJudge {
  readonly #world: World
  readonly #member: Member
  readonly #registers: Registers
  /** Runtimes whose data was complete at the last check. After a crash during a resync there is no such moment. */
  readonly #complete = new WeakSet<Runtime>()
  #diskFailures = 0

  constructor(world: World, member: Member, registers: Registers) {
    this.#world = world
    this.#member = member
    this.#registers = registers
  }

  check(): void {
    const { server, nodes } = this.#member.cluster
    const runtime = server?.runtime
    const cluster = runtime?.cluster
    if (!runtime || !cluster) return
    const { follower } = cluster.replication.replication.context.running.performance
    if (follower?.state === 'stream-wals' && !runtime.store.isResyncing) this.#complete.add(runtime)
    // A storage that has failed is read again, as after a crash.
    const diskFailures = nodes.reduce((sum, node) => sum + node.disk.failures, 0)
    if (server.labState.disk.state === 'full' || diskFailures > this.#diskFailures) this.#complete.delete(runtime)
    this.#diskFailures = diskFailures
    if (follower?.state === 'merkle-sync' && this.#complete.has(runtime)) this.#judge(runtime, cluster)
  }

  #judge({ barrier }: Runtime, { services }: OpenCluster): void {
    const mount = services.table.find('secret', 'root', 'two/')
    if (!mount) return
    const storage = barrier.view(`${KEYS.secretData}${mount.uuid}/`)
    for (const path of this.#registers.paths) {
      const [kind, name = ''] = path.split('/')
      if (kind !== 'two') continue
      try {
        findVersion(storage, name, 0, this.#world.clock.now())
      } catch (error) {
        if (!(error instanceof LogicalError && error.code === 'internal')) continue
        this.#world.fail(`${this.#member.name} shows an incomplete write of ${path}: ${error.message}`)
      }
    }
  }
}
