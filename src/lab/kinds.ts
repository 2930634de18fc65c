export type Kind = 'dr' | 'performance'

export const KINDS: readonly Kind[] = ['dr', 'performance']

/** How people speak of the two kinds. */
export const KIND_WORDS: Readonly<Record<Kind, string>> = { dr: 'DR', performance: 'performance' }
