/** Returns a number with its noun in the right form, such as `1 entry` and `2 entries`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
