import { expect, it } from 'vitest'
import { nextTurn } from '../../../src/base/turn.js'
import type { ApiAnswer } from '../../../src/index.js'
import { waitFor } from '../../../src/lab/requests/wait.js'
import { Chance } from '../../../src/server/simulated/chance.js'
import { settle } from '../../support/model-checks.js'
import { isSuccess, type Member, World } from '../../support/model-world.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../../support/soak.js'

/**
 * Several operators, or operators and clients that log in, act at the same time in random order. A failure shows all
 * actions. `npm run soak -- orders --seed <seed>` draws the same moments again.
 */
const ROUNDS = soakRounds(6)
const seed = soakSeed()

/** Things done at the same time in an order that chance decides, and what must hold afterwards whatever the order was. */
interface Race {
  readonly name: string
  prepare(world: World): Promise<void>
  /** `round` makes names that no other round has. */
  run(world: World, chance: RaceChance, round: number): Promise<void>
}

const TURNS_MAX = 60

/** What one round draws its order from. */
class RaceChance extends Chance {
  coin(): boolean {
    return this.below(2) === 0
  }

  of<T>(first: T, ...others: readonly T[]): T {
    return [first, ...others][this.below(others.length + 1)] ?? first
  }

  /** Begins each at its own moment, and resolves when all have ended. */
  async together(...works: readonly (() => Promise<unknown>)[]): Promise<void> {
    const begun = works.map((work) => ({ work, turns: this.below(TURNS_MAX) }))
    await Promise.all(
      begun.map(async ({ work, turns }) => {
        for (let turn = 0; turn < turns; turn++) await nextTurn()
        await work()
      }),
    )
  }
}

const brief = (text: string): string => (text.length > 100 ? `${text.slice(0, 30)}...${text.slice(-70)}` : text)

const ask = async (
  world: World,
  member: Member,
  method: string,
  path: string,
  body?: object,
): Promise<ApiAnswer | undefined> => {
  const answer = await world.asRoot(member, method, path, body)
  const sent = brief(JSON.stringify(body ?? {}))
  world.history.push(`${member.name} ${method} ${path} ${sent} -> ${answer?.status} ${brief(String(answer?.bytes))}`)
  world.count(`${method} ${path.replaceAll(/[0-9a-f-]{36}|\d+/g, '*')} ${answer?.status}`)
  return answer
}

const untilApplied = (world: World, from: Member, to: Member): Promise<void> =>
  world.until(() => world.lag(from, to, 'performance'))

/** The log tells of what was deleted until it is trimmed. */
const keysWith = async (member: Member, text: string): Promise<string[]> =>
  (await member.storage.findText(text)).filter((key) => key.includes(text))

const TOGETHER_MS = 90_000
const PERFORMANCE = 'sys/replication/performance'

/** An id is revoked and given to the same cluster again, while that has another credential of the id at hand. */
const sameIdAgain: Race = {
  name: 'an id that is revoked and added again',
  async prepare(world) {
    await ask(world, world.named('A'), 'PUT', 'sys/mounts/shown', { type: 'kv' })
  },
  async run(world, chance, round) {
    const [A, C] = [world.named('A'), world.named('C')]
    const { secondary_id: id } = await world.status(C, 'performance')
    /** The primary knows whom it has given a credential; who asked may be killed, or not wait, before that is kept. */
    let isUnclear = false
    const revoke = () => ask(world, A, 'PUT', `${PERFORMANCE}/primary/revoke-secondary`, { id })
    const add = async () => {
      const issued = await ask(world, A, 'PUT', `${PERFORMANCE}/primary/secondary-token`, { id })
      const { token } = (issued?.json?.wrap_info ?? {}) as { token?: string }
      if (!token) return false
      const answer = await ask(world, C, 'PUT', `${PERFORMANCE}/secondary/update-primary`, { token })
      isUnclear ||= !answer || answer.bytes.includes('no response within')
      return isSuccess(answer)
    }
    const write = async (member: Member, path: string) => {
      if (isSuccess(await ask(world, member, 'PUT', path, { value: path }))) A.writes.set(path, path)
    }
    const isKilled = chance.coin()
    await chance.together(
      revoke,
      add,
      ...(chance.coin() ? [add] : []),
      ...(chance.coin() ? [revoke] : []),
      ...(isKilled ? [() => C.cluster.crash().then(() => world.start(C))] : []),
      () => write(A, `shown/a${round}`),
      () => write(C, `shown/c${round}`),
    )
    await world.until(() => world.findUnserved(C))
    const { known_secondaries: known } = await world.status(A, 'performance')
    const isKnown = (known as string[]).includes(String(id))
    world.count(isKnown ? 'known in the end' : 'revoked in the end')
    if (isKnown && !isKilled && !isUnclear) return settle(world)
    await revoke()
    await world.until(async () => {
      const { connection_state } = await world.status(C, 'performance')
      return connection_state === 'ready' ? 'revoked, and connected' : undefined
    })
    const togetherAgain = async () => {
      if (await add()) return undefined
      await revoke()
      return 'it is refused'
    }
    // On a busy machine a try may be given up for its time alone, which is short in this world.
    await waitFor(world.lab.clock, `${String(id)} to be added again`, togetherAgain, TOGETHER_MS)
    await settle(world)
  },
}

/** The mounts of both clusters by uuid, with their paths from the root. */
const mountsOf = async (world: World, member: Member, namespace: string): Promise<Map<string, string>> => {
  const found = new Map<string, string>()
  for (const prefix of ['', `${namespace}/`]) {
    const answer = await world.asRoot(member, 'GET', `${prefix}sys/mounts`)
    if (answer?.status !== 200) continue
    for (const [path, entry] of Object.entries((answer.json?.data ?? {}) as Record<string, { uuid: string }>)) {
      found.set(entry.uuid, prefix + path)
    }
  }
  return found
}

const uuidOf = async (world: World, member: Member, namespace: string, path: string): Promise<string> => {
  for (const [uuid, at] of await mountsOf(world, member, namespace)) if (at === path) return uuid
  return world.fail(`${member.name} has no ${path}`)
}

/** A namespace is deleted while mounts leave it and come to it, and while they are written. */
const namespaceAmidMove: Race = {
  name: 'a namespace that is deleted while its mounts move',
  prepare: async () => undefined,
  async run(world, chance, round) {
    const [A, C] = [world.named('A'), world.named('C')]
    const [name, outside] = [`n${round}`, `out${round}`]
    const inside = `${name}/kv`
    await ask(world, A, 'PUT', `sys/namespaces/${name}`, {})
    for (const at of [`${name}/sys/mounts/kv`, `sys/mounts/${outside}`]) await ask(world, A, 'PUT', at, { type: 'kv' })
    for (const at of [inside, outside]) await ask(world, A, 'PUT', `${at}/a`, { value: at })
    await untilApplied(world, A, C)
    const uuids = new Map<string, string>()
    for (const at of [inside, outside]) uuids.set(await uuidOf(world, A, name, `${at}/`), at)
    const move = (from: string, to: string) => () => ask(world, chance.of(A, C), 'POST', 'sys/remount', { from, to })
    let isDeleted: boolean | undefined
    await chance.together(
      async () => {
        const answer = await ask(world, chance.of(A, C), 'DELETE', `sys/namespaces/${name}`)
        // What was sent to a slow primary may have been done.
        isDeleted = answer?.status === 503 ? undefined : isSuccess(answer)
      },
      ...(chance.coin() ? [move(inside, `moved${round}`)] : []),
      ...(chance.coin() ? [move(outside, `${name}/came`)] : []),
      ...(chance.coin() ? [move(inside, `${name}/deeper`)] : []),
      ...[A, C].map((member) => () => ask(world, member, 'PUT', `${inside}/b`, { value: 'b' })),
      () => ask(world, A, 'PUT', `${outside}/b`, { value: 'b' }),
    )
    await settle(world)
    for (const member of [A, C]) {
      const there = await world.asRoot(member, 'GET', `sys/namespaces/${name}`)
      isDeleted ??= there?.status === 404
      if ((there?.status === 200) === isDeleted)
        world.fail(`${member.name} has ${name}: ${there?.status}, ${isDeleted}`)
      const mounts = await mountsOf(world, member, name)
      for (const [uuid, was] of uuids) {
        const at = mounts.get(uuid)
        world.count(at ? 'mount left' : 'mount gone')
        if (at !== undefined) {
          const read = await world.asRoot(member, 'GET', `${at}a`)
          const { value } = (read?.json?.data ?? {}) as { value?: unknown }
          if (value !== was) world.fail(`${member.name} at ${at}, once ${was}: ${read?.status} ${read?.bytes}`)
          continue
        }
        await world.until(async () => {
          const left = await keysWith(member, `logical/${uuid}/`)
          return left.length === 0 ? undefined : `${member.name} keeps ${left.join()} of ${was}`
        })
      }
    }
    if (!isDeleted) return
    await ask(world, A, 'PUT', `sys/namespaces/${name}`, {})
    await ask(world, A, 'PUT', `${name}/sys/mounts/kv`, { type: 'kv' })
    const ghost = await world.asRoot(A, 'GET', `${inside}/a`)
    if (ghost?.status !== 404) world.fail(`a new ${inside} holds something: ${ghost?.status} ${ghost?.bytes}`)
    await ask(world, A, 'DELETE', `sys/namespaces/${name}`)
  },
}

const USES = 3

/** A role is deleted, and perhaps made again, while its SecretIDs are used on both clusters. */
const roleAmidLogins: Race = {
  name: 'a role that is deleted amid logins',
  async prepare(world) {
    await ask(world, world.named('A'), 'PUT', 'sys/auth/approle', { type: 'approle' })
    await untilApplied(world, world.named('A'), world.named('C'))
  },
  async run(world, chance, round) {
    const [A, C] = [world.named('A'), world.named('C')]
    const role = `auth/approle/role/r${round}`
    const isLocal = chance.below(3) === 0
    const make = () => ask(world, A, 'PUT', role, { secret_id_num_uses: USES, local_secret_ids: isLocal })
    const roleIdAt = async (member: Member) => {
      const read = await world.asRoot(member, 'GET', `${role}/role-id`)
      return (read?.json?.data as { role_id?: string } | undefined)?.role_id
    }
    await make()
    await untilApplied(world, A, C)
    const issued = await ask(world, isLocal ? C : chance.of(A, C), 'PUT', `${role}/secret-id`, {})
    const { secret_id } = (issued?.json?.data ?? {}) as { secret_id?: string }
    const role_id = await roleIdAt(A)
    if (!secret_id || !role_id) world.fail(`no SecretID of ${role}`)
    await untilApplied(world, A, C)
    const tokens: [Member, string][] = []
    const login =
      (member: Member, id = role_id) =>
      async () => {
        const answer = await world.call(member, 'PUT', 'auth/approle/login', { role_id: id, secret_id })
        world.history.push(`${member.name} login ${answer?.status} ${answer?.bytes}`)
        world.count(`login on ${member.name} ${answer?.status}`)
        const { client_token } = (answer?.json?.auth ?? {}) as { client_token?: string }
        if (client_token) tokens.push([member, client_token])
        return answer
      }
    const isMadeAgain = chance.coin()
    await chance.together(
      ...Array.from({ length: 4 }, () => login(C)),
      ...(isLocal ? [] : [login(A), login(A)]),
      async () => {
        await ask(world, chance.of(A, C), 'DELETE', role)
        if (isMadeAgain) await make()
      },
      ...(chance.coin() ? [() => ask(world, isLocal ? C : A, 'PUT', `${role}/secret-id/lookup`, { secret_id })] : []),
      ...(chance.coin() ? [() => ask(world, C, 'PUT', `${role}/secret-id`, {})] : []),
      ...(chance.coin() ? [() => ask(world, chance.of(A, C), 'PUT', 'auth/approle/tidy/secret-id', {})] : []),
    )
    await settle(world)
    if (tokens.length > USES) world.fail(`${tokens.length} logins with ${USES} uses`)
    for (const [member, token] of tokens) {
      const self = await world.call(member, 'GET', 'auth/token/lookup-self', undefined, token)
      if (self?.status !== 200) world.fail(`a token of ${member.name} is not good: ${self?.status} ${self?.bytes}`)
    }
    const ids = new Set([role_id, await roleIdAt(A)])
    for (const member of [A, C]) {
      for (const id of ids) {
        if (id === undefined) continue
        const late = await login(member, id)()
        if (late?.status !== 400) world.fail(`${member.name} takes a SecretID of a deleted role: ${late?.status}`)
      }
    }
    if (isMadeAgain) await ask(world, A, 'DELETE', role)
    await settle(world)
    await expectNothingLeft(world)
  },
}

/** An entity is deleted, wherever, while its owner logs in on both clusters: a token is good as long as its entity is there. */
const entityAmidLogins: Race = {
  name: 'an entity that is deleted amid logins',
  async prepare(world) {
    await ask(world, world.named('A'), 'PUT', 'sys/auth/userpass', { type: 'userpass' })
  },
  async run(world, chance, round) {
    const [A, C] = [world.named('A'), world.named('C')]
    const user = `u${round}`
    const token_type = chance.of('service', 'service', 'batch')
    await ask(world, A, 'PUT', `auth/userpass/users/${user}`, { password: 'correct', token_type })
    await untilApplied(world, A, C)
    const tokens: { member: Member; token: string; entity: string }[] = []
    const login = (member: Member) => async () => {
      const answer = await world.call(member, 'PUT', `auth/userpass/login/${user}`, { password: 'correct' })
      world.history.push(`${member.name} login ${answer?.status} ${brief(String(answer?.bytes))}`)
      world.count(`login on ${member.name} ${answer?.status}`)
      const { client_token, entity_id } = (answer?.json?.auth ?? {}) as { client_token?: string; entity_id?: string }
      if (client_token) tokens.push({ member, token: client_token, entity: entity_id ?? '' })
    }
    const remove = (member: Member) => async () => {
      const { entity } = chance.of(tokens[0], ...tokens) ?? {}
      if (entity) await ask(world, member, 'DELETE', `identity/entity/id/${entity}`)
    }
    if (chance.coin()) await login(chance.of(A, C))()
    await chance.together(login(A), login(C), login(C), remove(A), remove(C), login(A), login(C))
    await settle(world)
    for (const { member, token, entity } of tokens) {
      for (const reader of token_type === 'batch' ? [A, C] : [member]) {
        const found = await world.asRoot(reader, 'GET', `identity/entity/id/${entity}`)
        const self = await world.call(reader, 'GET', 'auth/token/lookup-self', undefined, token)
        const wanted = found?.status === 200 ? 200 : 403
        world.count(`token ${self?.status}`)
        if (self?.status !== wanted) {
          world.fail(`${reader.name}: a token of ${entity} (${found?.status}) is ${self?.status} ${self?.bytes}`)
        }
      }
    }
    await login(C)()
    await login(A)()
    await settle(world)
    const [onA, onC] = [tokens.at(-1), tokens.at(-2)]
    if (onA?.entity === undefined || onA.entity !== onC?.entity) world.fail(`two entities of one alias: ${user}`)
    for (const member of [A, C]) {
      const list = await world.asRoot(member, 'LIST', 'identity/entity/id')
      const { keys = [] } = (list?.json?.data ?? {}) as { keys?: string[] }
      if (keys.length !== round + 1) world.fail(`${member.name} has ${keys.length} entities of ${round + 1} users`)
    }
  },
}

/** A role that is gone leaves no SecretID; those of the other clusters' own go with the next tidy there. */
const expectNothingLeft = async (world: World): Promise<void> => {
  for (const member of world.members) {
    await world.until(async () => {
      await world.asRoot(member, 'PUT', 'auth/approle/tidy/secret-id', {})
      const left = [...(await keysWith(member, '/secret_id')), ...(await keysWith(member, '/accessor'))]
      const stored = left.filter((key) => /auth\/[0-9a-f-]{36}\/(secret_id|accessor)/.test(key))
      return stored.length === 0 ? undefined : `${member.name} keeps ${stored.join()}`
    })
  }
}

const RACES: readonly Race[] = [sameIdAgain, namespaceAmidMove, roleAmidLogins, entityAmidLogins]

const run = async (race: (typeof RACES)[number]) => {
  console.log(`seed ${seed}`)
  const world = await World.create('pr', seed)
  try {
    const chance = new RaceChance(`${race.name} ${seed}`)
    await race.prepare(world)
    for (let round = 0; round < ROUNDS; round++) await race.run(world, chance, round)
  } finally {
    console.log(
      [...world.seen]
        .sort()
        .map(([what, count]) => `${what}: ${count}`)
        .join('\n'),
    )
    await world.lab.close()
  }
  expect(world.seen.size).toBeGreaterThan(3)
}

it.each(RACES.map((race) => ({ name: race.name, race })))('$name', ({ race }) => run(race), soakTimeoutMs(ROUNDS))
