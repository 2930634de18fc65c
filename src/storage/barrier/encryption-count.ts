/** How many values were encrypted. It outlives the barriers that count in it, as a counter must that somebody watches. */
export class EncryptionCount {
  #total = 0

  get total(): number {
    return this.#total
  }

  add(): void {
    this.#total++
  }
}
