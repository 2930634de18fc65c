import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The seeds that failed in their last run, one line each with the reason, in a file that outlives the process. */
export class FailingSeeds {
  readonly #file: string
  readonly #seeds: Map<number, string>

  /** Throws if the file has another format. */
  constructor(file: string) {
    this.#file = file
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
    this.#seeds = new Map(lines.map((line) => parse(file, line)))
  }

  get all(): readonly number[] {
    return [...this.#seeds.keys()]
  }

  /** Records the result of a seed. `failure` is undefined if it did not fail. */
  record(seed: number, failure: string | undefined): void {
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
  if (seed === undefined) throw new Error(`${file} is not a list of seeds: ${line}`)
  return [Number(seed), text]
}
