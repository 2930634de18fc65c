import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The seeds that failed when they were played last, one a line with what went wrong, in a file that outlives the process. */
export class KeptSeeds {
  readonly #file: string
  readonly #seeds: Map<number, string>

  /** Throws where the file is none of these. */
  constructor(file: string) {
    this.#file = file
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
    this.#seeds = new Map(lines.map((line) => parse(file, line)))
  }

  get all(): readonly number[] {
    return [...this.#seeds.keys()]
  }

  /** What became of a seed: undefined when it did not fail. */
  played(seed: number, failure: string | undefined): void {
    if (failure === undefined) {
      if (!this.#seeds.delete(seed)) return
    } else {
      this.#seeds.set(seed, failure.replaceAll(/\s+/g, ' '))
    }
    if (this.#seeds.size === 0) rmSync(this.#file, { force: true })
    else writeFileSync(this.#file, [...this.#seeds].map(([one, text]) => `${one} ${text}\n`).join(''))
  }
}

const parse = (file: string, line: string): [number, string] => {
  const [, seed, text = ''] = /^(\d+) (.*)$/.exec(line) ?? []
  if (seed === undefined) throw new Error(`${file} keeps no seeds: ${line}`)
  return [Number(seed), text]
}
