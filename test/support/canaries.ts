import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/** Enough of a value to know it by; every value is longer. */
const HEAD = 12

/**
 * Secrets that must not be found where they do not belong. A secret is looked for as it is, in base64, and as the inner
 * id that a long token carries.
 */
export class Canaries {
  readonly #kinds = new Map<string, number>()
  readonly #byHead = new Map<string, { readonly kind: string; readonly value: string }[]>()

  add(kind: string, value: string): string {
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1)
    const inner = /hvs\.[0-9A-Za-z]{24}/.exec(Buffer.from(value.slice(4), 'base64url').toString('latin1'))?.[0]
    for (const form of [value, Buffer.from(value).toString('base64').replace(/=+$/, ''), ...(inner ? [inner] : [])]) {
      if (form.length < HEAD) throw new Error(`a ${kind} is too short to be looked for`)
      const head = form.slice(0, HEAD)
      this.#byHead.set(head, [...(this.#byHead.get(head) ?? []), { kind, value: form }])
    }
    return value
  }

  /** How many there are of each kind. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.#kinds)
  }

  /** The kinds of the secrets in a text, those left out that belong there. */
  findIn(text: string): string[] {
    const found = new Set<string>()
    for (let at = 0; at + HEAD <= text.length; at++) {
      for (const { kind, value } of this.#byHead.get(text.slice(at, at + HEAD)) ?? []) {
        if (text.startsWith(value, at)) found.add(kind)
      }
    }
    return [...found].sort()
  }

  /** The same for a file, or all files of a directory. */
  findInFiles(place: string): string[] {
    if (!statSync(place).isDirectory()) return this.findIn(readFileSync(place, 'latin1'))
    const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).map((name) => path.join(place, name))
    return files
      .filter((file) => statSync(file).isFile())
      .flatMap((file) => this.findIn(readFileSync(file, 'latin1')).map((kind) => `${kind} in ${file}`))
  }
}
