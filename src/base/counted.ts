/** Returns a number with its noun in the singular or plural, such as `1 entry` or `2 entries`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** Returns words as alternatives, such as `1, 3 or 5`. */
export const alternatives = (words: readonly (string | number)[]): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
