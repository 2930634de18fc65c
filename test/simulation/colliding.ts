import { KEYS } from '../../src/storage/keys/key-families.js'
import { subPageOf } from '../../src/storage/trees/leaf.js'

const SUFFIXES = 1_000

/** Returns two policy names in the same sub-page of the tree, each with the given prefix. */
const findColliding = (one: string, other: string): readonly [string, string] => {
  const seen = new Map<number, string>()
  for (let n = 0; n < SUFFIXES; n++) seen.set(subPageOf(`${KEYS.policies}${one}-${n}`), `${one}-${n}`)
  for (let n = 0; ; n++) {
    const found = seen.get(subPageOf(`${KEYS.policies}${other}-${n}`))
    if (found !== undefined) return [found, `${other}-${n}`]
  }
}

/**
 * Policy names by prefix. Each even name is in the same sub-page as the next odd one, which is rare among 65,536
 * sub-pages.
 */
export class CollidingNames {
  readonly #names = new Map<string, string>()

  /** `name` ends with a number. */
  of(name: string): string {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const [, stem = '', digits = '0'] = /^(.*?)(\d+)$/.exec(name) ?? []
    const even = Number(digits) - (Number(digits) % 2)
    const pair = [`${stem}${even}`, `${stem}${even + 1}`] as const
    const found = findColliding(...pair)
    for (const at of [0, 1] as const) this.#names.set(pair[at], found[at])
    return this.#names.get(name) ?? name
  }
}
