/** Counts encrypted values. It outlives the barriers that use it, because a metrics counter must not go backwards. */
export class EncryptionCount {
  #total = 0

  get total(): number {
    return this.#total
  }

  add(): void {
    this.#total++
  }
}
