/** Returns a number with its noun in the singular or plural, such as `1 entry` or `2 entries`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
