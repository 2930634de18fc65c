import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ApiAnswer, Kind } from '../../../src/index.js'
import { waitFor } from '../../../src/lab/requests/wait.js'
import { checkInfo, checkPromises, isSecondary, KINDS, readRoles, settle } from '../../support/model-checks.js'
import { isSuccess, type Member, type Status, World } from '../../support/model-world.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../../support/soak.js'

/**
 * Random requests in random order. The responses are not predicted; the invariants must hold for any response. A
 * failure prints seed and path. `npm run soak -- model --seed <seed>` repeats the whole run, and with
 * `SOAK_PATH=<path>` it begins with the failed path.
 */
const RUNS = soakRounds(24)
const STEPS_PER_RUN = 90
const seed = soakSeed()
const path = process.env.SOAK_PATH

/** What a step picks: a cluster, another one, a kind, and a coin. */
interface Choice {
  readonly a: number
  readonly b: number
  readonly kind: Kind
  readonly coin: boolean
}

type Action = (world: World, choice: Choice) => Promise<string>

const ROLE_MS = 60_000
/** The modes of a cluster that was told to follow another one. */
const FOLLOWING = ['bootstrapping', 'secondary']
const outcome = (answer: ApiAnswer | undefined): string => (answer ? String(answer.status) : 'no answer')

const pathOf = (kind: Kind, rest: string): string => `sys/replication/${kind}/${rest}`

/**
 * Mostly a cluster that shows this mode, so that much of what is asked for can be done; else, and where there is none, the
 * one with that number.
 */
const pick = async (world: World, { a, b }: Choice, kind: Kind, mode: string, not?: Member): Promise<Member> => {
  const fitting: Member[] = []
  for (const member of b === 2 ? [] : world.members) {
    if (member !== not && member.cluster.isRunning && (await world.status(member, kind)).mode === mode)
      fitting.push(member)
  }
  const plain = world.member(a)
  return fitting[a % Math.max(fitting.length, 1)] ?? (plain === not ? world.member(a + 1) : plain)
}

/** One that takes part in nothing, where there is one. */
const pickFree = async (world: World, choice: Choice, not: Member): Promise<Member> => {
  const free: Member[] = []
  for (const member of world.members.filter((one) => one !== not && one.cluster.isRunning)) {
    const modes = await Promise.all(KINDS.map(async (kind) => (await world.status(member, kind)).mode))
    if (modes.every((mode) => mode === 'disabled')) free.push(member)
  }
  return free[choice.a % Math.max(free.length, 1)] ?? pick(world, choice, choice.kind, 'disabled', not)
}

/** The cluster that acknowledges a write that `member` takes: itself, or whom it forwards to. */
const acknowledger = async (world: World, member: Member): Promise<Member | undefined> => {
  if (!member.cluster.isRunning) return undefined
  const performance = await world.status(member, 'performance')
  return performance.mode === 'secondary' ? world.byAddress(performance.primary_cluster_addr) : member
}

/** A secondary may find another primary while it forwards: a write that this one holds was taken there. */
const takerOf = async (
  world: World,
  member: Member,
  before: Member | undefined,
  path: string,
): Promise<Member | undefined> => {
  const after = await acknowledger(world, member)
  if (!after || after === before) return before
  return (await world.asRoot(after, 'GET', path))?.status === 200 ? after : before
}

const enableMount = (world: World, member: Member, isShown: boolean) =>
  world.asRoot(member, 'PUT', `sys/mounts/${isShown ? 'shown' : 'denied'}`, { type: 'kv', options: { version: '1' } })

const write: Action = async (world, { a, coin }) => {
  const member = world.member(a)
  const path = `${coin ? 'shown' : 'denied'}/w${world.next()}`
  const value = `canary-${path}`
  const by = await acknowledger(world, member)
  let answer = await world.asRoot(member, 'PUT', path, { value })
  if (answer?.status === 404) {
    await enableMount(world, member, coin)
    answer = await world.asRoot(member, 'PUT', path, { value })
  }
  if (isSuccess(answer)) (await takerOf(world, member, by, path))?.writes.set(path, value)
  return `${member.name} ${path} ${outcome(answer)}`
}

const remove: Action = async (world, { a }) => {
  const member = world.member(a)
  const path = [...member.writes.keys()].at(-1) ?? 'shown/none'
  for (const other of world.members) other.writes.delete(path)
  return `${member.name} ${path} ${outcome(await world.asRoot(member, 'DELETE', path))}`
}

const mount: Action = async (world, { a, coin }) => {
  const member = world.member(a)
  return `${member.name} ${coin ? 'shown' : 'denied'} ${outcome(await enableMount(world, member, coin))}`
}

const createToken: Action = async (world, { a }) => {
  const member = world.member(a)
  const answer = await world.asRoot(member, 'PUT', 'auth/token/create', { policies: ['default'] })
  const token = (answer?.json?.auth as { client_token?: string } | undefined)?.client_token
  if (isSuccess(answer) && token) member.tokens.add(token)
  return `${member.name} ${outcome(answer)}`
}

/** Sends one change of role and waits until its outcome shows; a refused one must change nothing. */
const changeRole = async (
  world: World,
  member: Member,
  kind: Kind,
  wanted: readonly string[],
  path: string,
  body: Record<string, unknown>,
): Promise<ApiAnswer | undefined> => {
  if (!member.cluster.isRunning) return undefined
  const before = await world.status(member, kind)
  const isOnDr = isSecondary(await world.status(member, 'dr')) && kind === 'dr'
  const token = isOnDr ? { dr_operation_token: await world.operationToken(member) } : {}
  const answer = await world.asRoot(member, 'PUT', pathOf(kind, path), { ...body, ...token })
  if (isSuccess(answer)) {
    await waitFor(
      world.lab.clock,
      `${member.name} to be ${wanted.join(' or ')} (${kind})`,
      async () => {
        const { mode } = await world.status(member, kind)
        return wanted.includes(String(mode)) ? undefined : `its mode is ${mode}`
      },
      ROLE_MS,
    ).catch((error: unknown) => world.fail(String(error)))
    return answer
  }
  const after = await world.status(member, kind)
  const isFirstCopyDone = before.mode === 'bootstrapping' && after.mode === 'secondary'
  if (after.mode !== before.mode && !isFirstCopyDone) {
    world.fail(
      `${member.name} refused ${kind} ${path} with ${answer?.bytes} and went from ${before.mode} to ${after.mode}`,
    )
  }
  return answer
}

const enablePrimary: Action = async (world, { a, kind }) => {
  const member = world.member(a)
  return `${member.name} ${kind} ${outcome(await changeRole(world, member, kind, ['primary'], 'primary/enable', {}))}`
}

/** Mostly of a cluster whose mode is `mode`. */
const change =
  (
    mode: string,
    wanted: string,
    path: string,
    body: (choice: Choice) => Record<string, unknown> = () => ({}),
  ): Action =>
  async (world, choice) => {
    const { kind } = choice
    const member = await pick(world, choice, kind, mode)
    return `${member.name} ${kind} ${outcome(await changeRole(world, member, kind, [wanted], path, body(choice)))}`
  }

const demote = change('primary', 'secondary', 'primary/demote')
const promote = change('secondary', 'primary', 'secondary/promote', ({ coin }) => ({ force: coin }))
const forgetPrimary = change('secondary', 'secondary', 'secondary/update-primary', () => ({ token: '' }))

const disable: Action = async (world, choice) => {
  const { kind, coin } = choice
  const member = await pick(world, choice, kind, coin ? 'secondary' : 'primary')
  if (!member.cluster.isRunning) return `${member.name} is down`
  const side = (await world.status(member, kind)).mode === 'primary' ? 'primary' : 'secondary'
  return `${member.name} ${kind} ${side} ${outcome(await changeRole(world, member, kind, ['disabled'], `${side}/disable`, {}))}`
}

const join: Action = async (world, choice) => {
  const { kind, coin } = choice
  const primary = await pick(world, choice, kind, 'primary')
  const member = await pickFree(world, choice, primary)
  if (coin) await changeRole(world, primary, kind, ['primary'], 'primary/enable', {})
  const issued = await world.issue(primary, kind)
  if (!issued) return `${primary.name} issues no ${kind} token`
  const hadRoot = await member.cluster.token()
  const answer = await changeRole(world, member, kind, FOLLOWING, 'secondary/enable', { token: issued.token })
  if (isSuccess(answer)) {
    member.joined = { kind, primary: primary.name, id: issued.id }
    member.writes.clear()
    member.tokens.clear()
    // Of a DR set all tokens are those of the primary, which may be the very ones that this cluster had once.
    if (kind === 'dr') member.deadTokens.clear()
    else if (hadRoot !== undefined) member.deadTokens.add(hadRoot)
    member.generation++
  }
  if (answer?.status === 400) world.count(`join refused: ${String(answer.json?.errors).replaceAll(/[\d.:]{6,}/g, '-')}`)
  return `${member.name} to ${primary.name} ${kind} ${outcome(answer)}`
}

const updatePrimary: Action = async (world, choice) => {
  const { kind } = choice
  const primary = await pick(world, choice, kind, 'primary')
  const member = await pick(world, choice, kind, 'secondary', primary)
  const issued = await world.issue(primary, kind)
  if (!issued) return `${primary.name} issues no ${kind} token`
  const answer = await changeRole(world, member, kind, FOLLOWING, 'secondary/update-primary', { token: issued.token })
  if (isSuccess(answer)) {
    member.joined = { kind, primary: primary.name, id: issued.id }
    await checkLosses(world, member, primary)
    member.writes.clear()
    if (kind === 'dr') {
      member.tokens.clear()
      member.deadTokens.clear()
    }
  }
  return `${member.name} to ${primary.name} ${kind} ${outcome(answer)}`
}

/** One that was promoted by force without all data says so itself; whoever follows it then loses the rest. */
const isFilteredPromotionListed = async (world: World): Promise<boolean> => {
  for (const member of world.members) {
    const answer = await world.call(member, 'GET', '/_understudy/v1/losses')
    if (answer?.bytes.includes('a paths filter (') === true) return true
  }
  return false
}

/** Whatever a cluster had acknowledged is at the primary that it follows now, or in its list of losses. */
const checkLosses = async (world: World, member: Member, primary: Member): Promise<void> => {
  const answer = await world.call(member, 'GET', '/_understudy/v1/losses')
  const losses = (answer?.json?.losses ?? []) as { entries: { path: string }[]; reason: string }[]
  // Losses name what is stored; this engine keeps `name` below `data/`.
  const listed = new Set(losses.flatMap(({ entries }) => entries.map(({ path }) => path)))
  const isOpenEnded =
    losses.some(({ reason }) => /does not descend|not complete/.test(reason)) ||
    (await isFilteredPromotionListed(world))
  for (const path of member.writes.keys()) {
    if (listed.has(path.replace('/', '/data/'))) {
      world.count('write listed as lost')
      continue
    }
    const read = await world.asRoot(primary, 'GET', path)
    if (read?.status === 200) continue
    if (read?.status === 404 && !isOpenEnded) {
      world.fail(
        `${path}, acknowledged by ${member.name}, is neither at ${primary.name} nor listed: ${JSON.stringify(losses)}`,
      )
    }
    world.count('write lost in an incomplete list')
  }
}

const updateAddresses: Action = async (world, choice) => {
  const { kind } = choice
  const member = await pick(world, choice, kind, 'secondary')
  const primary = await pick(world, choice, kind, 'primary', member)
  const address = primary.cluster.clusterAddress.replace('https://', '')
  const body = { update_primary_addrs: [address] }
  const answer = await changeRole(world, member, kind, FOLLOWING, 'secondary/update-primary', body)
  return `${member.name} ${kind} ${address} ${outcome(answer)}`
}

const firstKnown = (status: Status): string | undefined =>
  Array.isArray(status.known_secondaries) ? status.known_secondaries.map(String)[0] : undefined

const revoke: Action = async (world, choice) => {
  const { kind } = choice
  const member = await pick(world, choice, kind, 'primary')
  if (!member.cluster.isRunning) return `${member.name} is down`
  const id = firstKnown(await world.status(member, kind))
  if (id === undefined) return `${member.name} knows nobody`
  const answer = await world.asRoot(member, 'PUT', pathOf(kind, 'primary/revoke-secondary'), { id })
  const { known_secondaries: known } = isSuccess(answer) ? await world.status(member, kind) : {}
  if (Array.isArray(known) && known.includes(id)) world.fail(`${member.name} still knows the revoked ${id}`)
  return `${member.name} ${kind} ${id} ${outcome(answer)}`
}

const filter: Action = async (world, choice) => {
  const { b, coin } = choice
  const member = await pick(world, choice, 'performance', 'primary')
  if (!member.cluster.isRunning) return `${member.name} is down`
  const id = firstKnown(await world.status(member, 'performance'))
  if (id === undefined) return `${member.name} knows nobody`
  const path = pathOf('performance', `primary/paths-filter/${id}`)
  world.hasFiltered ||= coin
  // Something to take away, and at times the moment at which it must be gone.
  if (coin) await write(world, { ...choice, a: world.members.indexOf(member), coin: false })
  const answer = coin
    ? await world.asRoot(member, 'PUT', path, { mode: 'deny', paths: ['denied/'] })
    : await world.asRoot(member, 'DELETE', path)
  if (coin && b === 0 && isSuccess(answer)) await settle(world)
  return `${member.name} ${id} ${coin ? 'put' : 'deleted'} ${outcome(answer)}`
}

const crash: Action = async (world, { a, coin }) => {
  const member = world.member(a)
  await (coin ? member.cluster.crash() : member.cluster.stop())
  return `${member.name} ${coin ? 'crashed' : 'stopped'}`
}

/** Every cluster and every link. */
const start: Action = async (world) => {
  world.lab.heal()
  const down = world.members.filter(({ cluster }) => !cluster.isRunning)
  for (const member of down) await world.start(member)
  return down.map(({ name }) => name).join()
}

const restart: Action = async (world, { a }) => {
  const member = world.member(a)
  await member.cluster.crash()
  await world.start(member)
  return member.name
}

const partition: Action = async (world, { a, b, coin }) => {
  const [one, other] = [world.member(a).name, world.other(a, b).name]
  const link = world.lab.link(one, other)
  if (coin) link.partition()
  else link.heal()
  return `${one}-${other} ${coin ? 'cut' : 'healed'}`
}

const inspect: Action = async (world, { a }) => {
  const member = world.member(a)
  await readRoles(world)
  await checkInfo(world)
  if (member.cluster.isRunning) await checkPromises(world, member)
  return member.name
}

const rest: Action = async (world) => {
  await settle(world)
  return ''
}

/** Every action, and how often it is picked. */
const ACTIONS = {
  write: { run: write, weight: 10 },
  remove: { run: remove, weight: 2 },
  mount: { run: mount, weight: 3 },
  createToken: { run: createToken, weight: 2 },
  enablePrimary: { run: enablePrimary, weight: 4 },
  join: { run: join, weight: 8 },
  updatePrimary: { run: updatePrimary, weight: 6 },
  promote: { run: promote, weight: 3 },
  demote: { run: demote, weight: 2 },
  disable: { run: disable, weight: 3 },
  forgetPrimary: { run: forgetPrimary, weight: 1 },
  updateAddresses: { run: updateAddresses, weight: 1 },
  revoke: { run: revoke, weight: 1 },
  filter: { run: filter, weight: 6 },
  crash: { run: crash, weight: 2 },
  start: { run: start, weight: 6 },
  restart: { run: restart, weight: 2 },
  partition: { run: partition, weight: 2 },
  inspect: { run: inspect, weight: 4 },
  rest: { run: rest, weight: 2 },
} as const satisfies Record<string, { readonly run: Action; readonly weight: number }>

type ActionName = keyof typeof ACTIONS

const runAction = async (world: World, name: ActionName, choice: Choice): Promise<void> => {
  const step = `${name} ${JSON.stringify(choice)}`
  world.history.push(`${step} ...`)
  const result = await ACTIONS[name].run(world, choice)
  world.history[world.history.length - 1] = `${name} ${result}`
  world.count(`${name} ${/\b(\d{3}|no answer)$/.exec(result)?.[1] ?? ''}`.trim())
}

/** The model is what the clusters say of themselves: steps always apply, and a step that cannot be is refused. */
class Step implements fc.AsyncCommand<object, World> {
  readonly #name: ActionName
  readonly #choice: Choice

  constructor(name: ActionName, choice: Choice) {
    this.#name = name
    this.#choice = choice
  }

  check(): boolean {
    return true
  }

  async run(_model: object, world: World): Promise<void> {
    await runAction(world, this.#name, this.#choice)
  }

  toString(): string {
    return `${this.#name} ${JSON.stringify(this.#choice)}`
  }
}

const choice = fc.record({
  a: fc.nat(3),
  b: fc.nat(2),
  kind: fc.constantFrom(...KINDS),
  coin: fc.boolean(),
})

const step = fc
  .tuple(
    fc.oneof(
      ...Object.entries(ACTIONS).map(([name, { weight }]) => ({ arbitrary: fc.constant(name as ActionName), weight })),
    ),
    choice,
  )
  .map(([name, picked]) => new Step(name, picked))

const play = async () => {
  const seen = new Map<string, number>()
  let steps = 0
  const property = fc.asyncProperty(
    fc.constantFrom('none', 'dr', 'pr', 'pr-dr', 'four'),
    fc.array(step, { minLength: STEPS_PER_RUN, maxLength: STEPS_PER_RUN, size: 'max' }),
    async (topology, commands) => {
      const world = await World.create(topology, seed)
      try {
        await fc.asyncModelRun(() => ({ model: {}, real: world }), commands)
        await settle(world)
      } finally {
        steps += world.history.length
        for (const [what, count] of world.seen) seen.set(what, (seen.get(what) ?? 0) + count)
        await world.lab.close()
      }
    },
  )
  console.log(`seed ${seed}`)
  try {
    await fc.assert(property, { seed, numRuns: RUNS, endOnFailure: true, ...(path && { path }) })
  } finally {
    console.log(
      `${steps} steps\n${[...seen]
        .sort()
        .map(([what, count]) => `${what}: ${count}`)
        .join('\n')}`,
    )
  }
  expect(steps).toBeGreaterThanOrEqual(path === undefined ? RUNS * STEPS_PER_RUN : STEPS_PER_RUN)
}

it('clusters keep their invariants for random requests', play, soakTimeoutMs(RUNS))
