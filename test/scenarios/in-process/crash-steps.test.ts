import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import type { ApiAnswer, Kind } from '../../../src/index.js'
import { waitFor } from '../../../src/lab/requests/wait.js'
import type { DiskStep } from '../../../src/storage/engine/watched-source.js'
import { settle } from '../../support/model-checks.js'
import { type Member, UNCUT_SETTINGS, type WatchedStorage, watchStorage, World } from '../../support/model-world.js'

/**
 * Each disk step of an operation is once the last step of its process. The next process must find the state before or
 * after the operation, and the cluster must continue from either.
 */

/** Counts what one cluster does to its disk, and ends its process just before the step with a given number. */
class DeathWatch {
  readonly steps: DiskStep[] = []
  readonly storage: WatchedStorage
  readonly #dieAt: number
  #isArmed = false
  #hasDied = false

  constructor(dieAt: number) {
    this.#dieAt = dieAt
    this.storage = watchStorage((step) => this.#before(step))
  }

  get hasDied(): boolean {
    return this.#hasDied
  }

  arm(): void {
    this.#isArmed = true
  }

  disarm(): void {
    this.#isArmed = false
  }

  #before(step: DiskStep): void {
    if (!this.#isArmed) return
    if (this.steps.push(step) !== this.#dieAt) return
    this.#hasDied = true
    this.#isArmed = false
    this.storage.kill()
  }
}

/** Something that changes a disk in several steps, on the cluster `victim`. */
interface Operation {
  readonly name: string
  readonly topology: string
  readonly victim: string
  /** What has to be there before. */
  prepare(world: World): Promise<void>
  /** Starts the operation. What it answers does not matter once its process is dying. */
  perform(world: World): Promise<ApiAnswer | undefined>
  /** What is still missing before all of its steps are done. */
  findMissing(world: World): Promise<string | undefined>
  /** Looks at what is left right after the restart: fails when it is neither the old state nor the new one. */
  check(world: World): Promise<'before' | 'after'>
  /** The cluster goes on: to the end of the operation, begun anew where it never happened. */
  finish(world: World, found: 'before' | 'after'): Promise<void>
}

interface Enumeration {
  readonly steps: readonly DiskStep[]
  readonly found: Readonly<Record<'before' | 'after', number>>
}

const DONE_MS = 60_000
/** An operation that never ends would be enumerated for ever. */
const STEPS_MAX = 80

/** Runs an operation once for each of its steps, dying there, and once to its end. */
const enumerateCrashes = async (operation: Operation, seed: number): Promise<Enumeration> => {
  const found = { before: 0, after: 0 }
  for (let dieAt = 1; dieAt <= STEPS_MAX; dieAt++) {
    const watch = new DeathWatch(dieAt)
    const makeStorage = (name: string) => (name === operation.victim ? watch.storage : watchStorage())
    const world = await World.create(operation.topology, seed, { makeStorage, settings: UNCUT_SETTINGS })
    world.history.push(`${operation.name}, dying before step ${dieAt}`)
    try {
      if (!(await runOnce(operation, world, watch, found))) return { steps: watch.steps, found }
    } finally {
      await world.lab.close()
    }
  }
  throw new Error(`${operation.name} took more than ${STEPS_MAX} steps`)
}

/** False when the operation came to its end before the step at which it was to die. */
const runOnce = async (
  operation: Operation,
  world: World,
  watch: DeathWatch,
  found: Record<'before' | 'after', number>,
): Promise<boolean> => {
  const victim = world.named(operation.victim)
  await operation.prepare(world)
  watch.arm()
  const answer = await operation.perform(world).catch((error: unknown) => {
    if (!watch.hasDied) throw error
    return undefined
  })
  if (answer && answer.status >= 300 && !watch.hasDied)
    world.fail(`${operation.name} was refused: ${answer.status} ${answer.bytes}`)
  await waitFor(
    systemClock,
    operation.name,
    async () => (watch.hasDied ? undefined : operation.findMissing(world)),
    DONE_MS,
  )
  watch.disarm()
  const hasDied = watch.hasDied
  world.history.push(`steps: ${watch.steps.join(', ')}`)
  await victim.cluster.crash()
  await world.start(victim)
  const state = await operation.check(world)
  world.history.push(`${operation.victim} is as ${state}`)
  if (hasDied) found[state]++
  else if (state === 'before') world.fail(`${operation.name} was done and is gone after a crash`)
  await operation.finish(world, state)
  return hasDied
}

/** The operations that are interrupted at each of their steps. Each is made anew for every run, with what it remembers. */

const KEYS = 12
const BIG_KEYS = 620

const must = async (world: World, member: Member, method: string, path: string, body?: unknown) => {
  const answer = await world.asRoot(member, method, path, body)
  if (!answer || answer.status >= 300)
    world.fail(`${member.name} ${method} ${path}: ${answer?.status} ${answer?.bytes}`)
  return answer.json ?? {}
}

/** A mount with some keys, all of which are promised from now on; its uuid. */
const fill = async (world: World, member: Member, mount: string, count = KEYS): Promise<string> => {
  await must(world, member, 'PUT', `sys/mounts/${mount}`, { type: 'kv', options: { version: '1' } })
  for (let n = 0; n < count; n++) {
    const path = `${mount}/key-${n}`
    await must(world, member, 'PUT', path, { value: `value of ${path}` })
    member.writes.set(path, `value of ${path}`)
  }
  const shown = await must(world, member, 'GET', `sys/mounts/${mount}`)
  return String((shown.data as { uuid: string }).uuid)
}

const issue = async (world: World, primary: Member, kind: Kind): Promise<{ id: string; token: string }> =>
  (await world.issue(primary, kind)) ?? world.fail(`${primary.name} issues no ${kind} token`)

const modeOf = async (world: World, member: Member, kind: Kind): Promise<unknown> =>
  (await world.status(member, kind)).mode

const expectMode = async (world: World, member: Member, kind: Kind, mode: string): Promise<string | undefined> => {
  const shown = await modeOf(world, member, kind)
  return shown === mode ? undefined : `its mode is ${shown}`
}

/** The first copy and the wipe before it. */
const enableSecondary = (kind: Kind): Operation => {
  let oldUuid = ''
  let oldRoot = ''
  let oldKeys = ''
  const enable = async (world: World) => {
    const [a, b] = [world.named('A'), world.named('B')]
    const { id, token } = await issue(world, a, kind)
    b.joined = { kind, primary: 'A', id }
    return world.asRoot(b, 'PUT', `sys/replication/${kind}/secondary/enable`, { token })
  }
  return {
    name: `enabling a ${kind} secondary`,
    topology: 'none',
    victim: 'B',
    async prepare(world) {
      const [a, b] = [world.named('A'), world.named('B')]
      oldUuid = await fill(world, b, 'own')
      oldRoot = b.cluster.rootToken
      oldKeys = b.cluster.unsealKeys.join()
      await must(world, a, 'PUT', `sys/replication/${kind}/primary/enable`, {})
      await fill(world, a, 'shown')
    },
    perform: enable,
    findMissing: (world) => world.lag(world.named('A'), world.named('B'), kind),
    async check(world) {
      const b = world.named('B')
      const isOld = (await modeOf(world, b, kind)) === 'disabled'
      if (isOld !== (b.cluster.unsealKeys.join() === oldKeys))
        world.fail(`B is ${isOld ? 'old' : 'new'} and opens with the other keys`)
      const left = await b.storage.findText(oldUuid)
      if (isOld) {
        if ((await world.call(b, 'GET', 'own/key-0', undefined, oldRoot))?.status !== 200) world.fail('B lost its data')
        return 'before'
      }
      if (left.length > 0) world.fail(`B was wiped and still holds ${left.join(', ')}`)
      b.writes.clear()
      b.deadTokens.add(oldRoot)
      b.generation = Number((await world.info(b)).storage_generation)
      return 'after'
    },
    async finish(world, found) {
      const b = world.named('B')
      if (found === 'before') {
        const answer = await enable(world)
        if (answer?.status !== 200) world.fail(`B cannot join again: ${answer?.bytes}`)
        b.writes.clear()
        b.deadTokens.add(oldRoot)
        b.generation++
      }
      await settle(world)
      await world.until(() => world.lag(world.named('A'), b, kind))
    },
  }
}

const promoteDr = (): Operation => {
  let token = ''
  const promote = (world: World) =>
    world.call(world.named('B'), 'PUT', 'sys/replication/dr/secondary/promote', { dr_operation_token: token })
  return {
    name: 'promoting a DR secondary',
    topology: 'dr',
    victim: 'B',
    async prepare(world) {
      await fill(world, world.named('A'), 'shown')
      await world.lab.converged()
      token = await world.operationToken(world.named('B'))
    },
    perform: promote,
    findMissing: (world) => expectMode(world, world.named('B'), 'dr', 'primary'),
    async check(world) {
      const mode = await modeOf(world, world.named('B'), 'dr')
      if (mode !== 'primary' && mode !== 'secondary') world.fail(`B is ${mode}`)
      return mode === 'primary' ? 'after' : 'before'
    },
    async finish(world, found) {
      const [a, b] = [world.named('A'), world.named('B')]
      if (found === 'before') {
        await world.lab.converged()
        const answer = await promote(world)
        if (answer?.status !== 200) world.fail(`B cannot be promoted again: ${answer?.bytes}`)
        await world.until(() => expectMode(world, b, 'dr', 'primary'))
      }
      await world.until(() => world.findUnserved(b))
      for (const [path, value] of a.writes) b.writes.set(path, value)
      await fill(world, b, 'more', 1)
      await settle(world)
    },
  }
}

const demoteDr = (): Operation => ({
  name: 'demoting a DR primary',
  topology: 'dr',
  victim: 'A',
  async prepare(world) {
    await fill(world, world.named('A'), 'shown')
    await world.lab.converged()
  },
  perform: (world) => world.asRoot(world.named('A'), 'PUT', 'sys/replication/dr/primary/demote', {}),
  findMissing: (world) => expectMode(world, world.named('A'), 'dr', 'secondary'),
  async check(world) {
    const mode = await modeOf(world, world.named('A'), 'dr')
    if (mode !== 'primary' && mode !== 'secondary') world.fail(`A is ${mode}`)
    return mode === 'secondary' ? 'after' : 'before'
  },
  async finish(world, found) {
    const a = world.named('A')
    if (found === 'after') {
      const token = await world.operationToken(a)
      const answer = await world.call(a, 'PUT', 'sys/replication/dr/secondary/promote', { dr_operation_token: token })
      if (answer?.status !== 200) world.fail(`A cannot be promoted back: ${answer?.bytes}`)
      await world.until(() => expectMode(world, a, 'dr', 'primary'))
      await world.until(() => world.findUnserved(a))
    }
    await settle(world)
    if (found === 'before') await world.lab.converged()
  },
})

/** A former primary with a write that nobody else has follows the one that took its place. */
const updatePrimary = (): Operation => {
  const update = async (world: World) => {
    const [a, b] = [world.named('A'), world.named('B')]
    const { token } = await issue(world, b, 'dr')
    const dr_operation_token = await world.operationToken(a)
    return world.call(a, 'PUT', 'sys/replication/dr/secondary/update-primary', { token, dr_operation_token })
  }
  const lost = async (world: World) => {
    const answer = await world.call(world.named('A'), 'GET', '/_understudy/v1/losses')
    const losses = (answer?.json?.losses ?? []) as { entries: { path: string }[] }[]
    return losses.flatMap(({ entries }) => entries.filter(({ path }) => path === 'shown/data/lost')).length
  }
  return {
    name: 'following another primary',
    topology: 'dr',
    victim: 'A',
    async prepare(world) {
      const [a, b] = [world.named('A'), world.named('B')]
      await fill(world, a, 'shown')
      await world.lab.converged()
      world.lab.link('A', 'B').partition()
      await must(world, a, 'PUT', 'shown/lost', { value: 'lost' })
      const dr_operation_token = await world.operationToken(b)
      await world.call(b, 'PUT', 'sys/replication/dr/secondary/promote', { dr_operation_token, force: true })
      await world.until(() => expectMode(world, b, 'dr', 'primary'))
      await world.until(() => world.findUnserved(b))
      await fill(world, b, 'more')
      world.lab.heal()
      await must(world, a, 'PUT', 'sys/replication/dr/primary/demote', {})
      await world.until(() => expectMode(world, a, 'dr', 'secondary'))
      a.writes.clear()
    },
    perform: update,
    findMissing: (world) => world.lag(world.named('B'), world.named('A'), 'dr'),
    async check(world) {
      const status = await world.status(world.named('A'), 'dr')
      if (status.mode !== 'secondary') world.fail(`A is ${status.mode}`)
      const isAfter = status.primary_cluster_addr !== ''
      const count = await lost(world)
      if (isAfter && count !== 1) world.fail(`the lost write is listed ${count} times`)
      return isAfter ? 'after' : 'before'
    },
    async finish(world, found) {
      const [a, b] = [world.named('A'), world.named('B')]
      if (found === 'before') {
        const answer = await update(world)
        if (answer?.status !== 200) world.fail(`A cannot be told again: ${answer?.bytes}`)
      }
      await world.until(() => world.lag(b, a, 'dr'))
      const count = await lost(world)
      if (count !== 1) world.fail(`the lost write is listed ${count} times in the end`)
      await settle(world)
    },
  }
}

/** Data that a secondary had is taken away from it, and from its DR copy; what it wrote itself stays. */
const changeFilter = (topology: 'pr' | 'four', victim: 'C' | 'D'): Operation => {
  let uuid = ''
  let id = ''
  const holders = topology === 'pr' ? ['C'] : ['C', 'D']
  const findLeft = async (world: World, name: string) => {
    const left = await world.named(name).storage.findText(`logical/${uuid}/`)
    return left.length === 0 ? undefined : `${name} holds ${left.length} records of a denied mount`
  }
  const findMark = async (world: World, name: string) =>
    (await world.info(world.named(name))).purge_pending === false ? undefined : `${name} has a purge pending`
  const findMissing = async (world: World) => {
    const [a, c] = [world.named('A'), world.named('C')]
    for (const name of holders) {
      const missing = (await findLeft(world, name)) ?? (await findMark(world, name))
      if (missing !== undefined) return missing
    }
    const lag = await world.lag(a, c, 'performance')
    return lag ?? (topology === 'four' ? world.lag(c, world.named('D'), 'dr') : undefined)
  }
  return {
    name: `putting a filter (${victim} of ${topology})`,
    topology,
    victim,
    async prepare(world) {
      const [a, c] = [world.named('A'), world.named('C')]
      await fill(world, a, 'shown')
      uuid = await fill(world, a, 'denied')
      await world.lab.converged()
      await must(world, c, 'PUT', 'sys/mounts/here', { type: 'kv', local: true, options: { version: '1' } })
      await must(world, c, 'PUT', 'here/key', { value: 'value of here/key' })
      c.writes.set('here/key', 'value of here/key')
      await world.lab.converged()
      const { known_secondaries: known } = await world.status(a, 'performance')
      id = (known as string[])[0] ?? ''
      world.hasFiltered = true
    },
    perform(world) {
      const path = `sys/replication/performance/primary/paths-filter/${id}`
      return world.asRoot(world.named('A'), 'PUT', path, { mode: 'deny', paths: ['denied/'] })
    },
    findMissing,
    async check(world) {
      const c = world.named('C')
      if ((await modeOf(world, c, 'performance')) !== 'secondary') world.fail('C is no secondary any more')
      for (const path of [...Array(KEYS).keys()].map((n) => `shown/key-${n}`).concat(...c.writes.keys())) {
        const answer = await world.asRoot(c, 'GET', path)
        if (answer?.status !== 200) world.fail(`C lost ${path}: ${answer?.bytes}`)
      }
      return (await findLeft(world, victim)) === undefined ? 'after' : 'before'
    },
    async finish(world) {
      await world.until(() => findMissing(world))
      await settle(world)
    },
  }
}

/** A mount with more keys than one transaction deletes is removed. */
const purgeMount = (): Operation => {
  let uuid = ''
  const findLeft = async (world: World) => {
    const text = `logical/${uuid}/`
    const left = (await world.named('A').storage.findText(text)).filter((key) => key.includes(text))
    return left.length === 0 ? undefined : `${left.length} keys are left`
  }
  const unmount = (world: World) => world.asRoot(world.named('A'), 'DELETE', 'sys/mounts/big')
  return {
    name: 'removing a mount',
    topology: 'single',
    victim: 'A',
    async prepare(world) {
      const a = world.named('A')
      uuid = await fill(world, a, 'big', BIG_KEYS)
      a.writes.clear()
    },
    perform: unmount,
    findMissing: findLeft,
    async check(world) {
      const a = world.named('A')
      if ((await world.asRoot(a, 'GET', 'sys/mounts/big'))?.status !== 200) return 'after'
      const listed = await must(world, a, 'LIST', 'big/')
      const count = (listed.data as { keys: string[] }).keys.length
      if (count !== BIG_KEYS) world.fail(`the mount is there with ${count} of its keys`)
      return 'before'
    },
    async finish(world, found) {
      const a = world.named('A')
      if (found === 'before') await unmount(world)
      await world.until(() => findLeft(world))
      await must(world, a, 'PUT', 'sys/mounts/big', { type: 'kv', options: { version: '1' } })
      if ((await world.asRoot(a, 'LIST', 'big/'))?.status !== 404) world.fail('a new mount holds what the old one had')
      await settle(world)
    },
  }
}

const SEED = 7

/** The operation, and its minimum number of disk steps. Fewer would mean that steps were missed. */
const OPERATIONS: readonly [Operation, number][] = [
  [enableSecondary('performance'), 8],
  [enableSecondary('dr'), 8],
  [promoteDr(), 2],
  [demoteDr(), 2],
  [updatePrimary(), 5],
  [changeFilter('pr', 'C'), 5],
  [changeFilter('four', 'C'), 5],
  [changeFilter('four', 'D'), 5],
  [purgeMount(), 4],
]

it.each(OPERATIONS.map(([operation, stepsMin]) => ({ name: operation.name, operation, stepsMin })))(
  '$name leaves the state before or after it, at whichever step its process dies',
  async ({ operation, stepsMin }) => {
    const { steps, found } = await enumerateCrashes(operation, SEED)
    console.log(`${operation.name}: ${steps.length} steps (${steps.join(', ')}); ${JSON.stringify(found)}`)
    expect(steps.length).toBeGreaterThanOrEqual(stepsMin)
    // If two changes share a batch, a later run has one step less.
    expect(found.before + found.after).toBeGreaterThanOrEqual(steps.length)
  },
)
