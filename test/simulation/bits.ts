import type { Answer } from '../../src/server/simulated/calls.js'
import { Chance } from '../../src/server/simulated/chance.js'
import type { SimulatedNode } from '../../src/server/simulated/node.js'
import type { Registers } from './registers.js'
import { readOf, valueIn } from './values.js'
import type { Servers } from './servers.js'
import type { Member, World } from './world.js'

/** Weights of the stored records whose bits are flipped: data, frames of the log, pages of the trees. */
const PREFIXES = { d: 4, w: 2, m: 1 }
const FLIPS = 3

/**
 * Flips one bit of the stored data of a stopped server, several times. The server must then serve the previous data, or
 * state why it cannot. All other servers must serve the correct data. Once the bit is restored, the server must serve
 * everything again.
 */
export const runBits = async (world: World, { serving }: Servers, { paths }: Registers): Promise<void> => {
  const chance = new Chance(`${world.plan.seed} turned bits`)
  const alone = world.members.filter(({ cluster }) => !cluster.hasNodes)
  if (!world.plan.hasBitFlips || alone.length === 0) return
  const before = new Map<Member, Values>()
  for (const member of serving) before.set(member, await readAll(world, member, paths))
  for (let flip = 0; flip < FLIPS; flip++) {
    const member = chance.pick(alone)
    const prefix = chance.weighed(PREFIXES)
    await world.act(`bit ${prefix}`, () => flipBit(world, { member, prefix, before, chance }))
  }
}

/** All values that each path has ever held. */
type Values = ReadonlyMap<string, string | undefined>

interface Flip {
  readonly member: Member
  readonly prefix: string
  readonly before: ReadonlyMap<Member, Values>
  readonly chance: Chance
}

const flipBit = async (world: World, { member, prefix, before, chance }: Flip): Promise<void> => {
  const [node] = member.cluster.nodes
  if (!node) return
  // The crash is announced to all peers, because only the disk is judged here.
  if (chance.happens(0.5)) node.crash(false)
  else await node.stop()
  const flipped = node.disk.flipBit(prefix, chance)
  const isOpen = await startsAndUnseals(world, member, node)
  for (const [other, values] of before)
    if (other !== member) await judgeSame(world, other, values)
    else if (isOpen) await judgeDamaged(world, member, node, values)
  node.crash(false)
  flipped?.back()
  await world.open(member)
  for (const [other, values] of before) await judgeSame(world, other, values)
}

/** Returns false if the server states why it does not open. */
const startsAndUnseals = async (world: World, { unsealKey: key }: Member, node: SimulatedNode): Promise<boolean> => {
  try {
    await node.start()
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    if (reason === '') world.fail(`${node.name} does not start and gives no reason`)
    world.history.add(node.name, `does not start: ${reason}`)
    return false
  }
  const answer = await node.call({ method: 'PUT', path: 'sys/unseal', body: { key } })
  if (answer?.json.sealed === false) return true
  requireReason(world, node, 'sys/unseal', answer)
  return false
}

const readAll = async (world: World, member: Member, paths: readonly string[]): Promise<Values> => {
  const values = new Map<string, string | undefined>()
  for (const path of paths) values.set(path, valueIn(path, await world.read(member, readOf(path))))
  return values
}

const judgeSame = async (world: World, member: Member, values: Values): Promise<void> => {
  for (const [path, value] of await readAll(world, member, [...values.keys()]))
    if (value !== values.get(path))
      world.fail(`${member.name} has another value after a bit flip: ${path} holds ${value}`)
}

const judgeDamaged = async (world: World, { rootToken: token }: Member, node: SimulatedNode, values: Values) => {
  for (const [path, value] of values) {
    const answer = await node.call({ ...readOf(path), token })
    if (answer?.status !== 200 && answer?.status !== 404) requireReason(world, node, path, answer)
    else if (valueIn(path, answer) !== value)
      world.fail(`${node.name} serves damaged data: ${answer.status} for ${path}: ${valueIn(path, answer)}`)
  }
}

const requireReason = (world: World, node: SimulatedNode, path: string, answer: Answer | undefined): void => {
  const [reason] = (answer?.json.errors ?? []) as readonly string[]
  // A server whose keyring cannot be decrypted responds with 400.
  const isRefused = answer && (answer.status >= 500 || (path === 'sys/unseal' && answer.status === 400))
  if (!isRefused || !reason)
    world.fail(`${node.name} answers ${answer?.status} to ${path} without a reason: ${JSON.stringify(answer?.json)}`)
}
