import type { ApiAnswer } from '../../src/index.js'
import type { Random } from '../../src/base/random.js'
import { nextTurn } from '../../src/base/turn.js'
import { findLag } from '../../src/lab/requests/replication.js'
import type { Member, World } from './model-world.js'

/** Things done at the same time in an order that chance decides, and what must hold afterwards whatever the order was. */
export interface Race {
  readonly name: string
  prepare(world: World): Promise<void>
  /** `round` makes names that no other round has. */
  run(world: World, chance: Chance, round: number): Promise<void>
}

const TURNS_MAX = 60

/** What one round draws its order from. */
export class Chance {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  below(bound: number): number {
    return this.#random.bytes(4).readUInt32BE() % bound
  }

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

export const isGood = (answer: ApiAnswer | undefined): boolean => answer !== undefined && answer.status < 300

export const brief = (text: string): string => (text.length > 100 ? `${text.slice(0, 30)}...${text.slice(-70)}` : text)

export const ask = async (
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

export const untilApplied = (world: World, from: Member, to: Member): Promise<void> =>
  world.until(() => findLag(from.cluster.anonymous, to.cluster.anonymous, 'performance'))

/** The log tells of what was deleted until it is trimmed. */
export const keysWith = async (member: Member, text: string): Promise<string[]> =>
  (await member.storage.findText(text)).filter((key) => key.includes(text))
