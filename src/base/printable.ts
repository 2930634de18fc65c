/**
 * Matches characters that paths must not contain: control, format, unassigned and private-use characters, and all
 * separators except the space.
 */
export const NOT_PRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u

/**
 * Matches control characters except line ends and tabs, and characters that change the direction or the lines of a
 * text.
 */
const UNSAFE = /(?![\n\t]|\r\n)[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/**
 * Escapes a text for a terminal, because the text may come from a malicious server. Each unsafe character becomes an
 * escape such as `\u001b`, as in JSON.
 */
export const printable = (text: string): string =>
  text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Returns the message of an error, or the text of any other thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
