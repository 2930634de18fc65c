/** Builds lines for shells. No other module quotes values for a shell. */

export const SHELLS = ['bash', 'fish', 'powershell', 'cmd'] as const
/** `bash` stands for every POSIX shell. */
export type Shell = (typeof SHELLS)[number]

interface Dialect {
  /** Throws for a value that the shell cannot represent. */
  readonly quote: (text: string) => string
  readonly set: (name: string, value: string) => string
  readonly unset: (name: string) => string
  readonly comment: string
}

const refuseForCmd = (text: string): string => {
  if (/["%!\r\n]/.test(text))
    throw new Error('cmd cannot represent a value with a quote, "%", "!" or a line break: use another shell')
  return text
}

const DIALECTS: Readonly<Record<Shell, Dialect>> = {
  bash: {
    quote: (text) => `'${text.replaceAll("'", `'"'"'`)}'`,
    set: (name, value) => `export ${name}=${shellWord(value)}`,
    unset: (name) => `unset ${name}`,
    comment: '#',
  },
  fish: {
    quote: (text) => `'${text.replace(/['\\]/g, '\\$&')}'`,
    set: (name, value) => `set -gx ${name} ${shellWord(value, 'fish')}`,
    unset: (name) => `set -e ${name}`,
    comment: '#',
  },
  powershell: {
    // This shell treats typographic quotes as quotes too.
    quote: (text) => `'${text.replace(/['\u2018-\u201b]/g, '$&$&')}'`,
    set: (name, value) => `$env:${name} = ${quoteForShell(value, 'powershell')}`,
    unset: (name) => `Remove-Item Env:${name} -ErrorAction SilentlyContinue`,
    comment: '#',
  },
  cmd: {
    quote: (text) => `"${refuseForCmd(text)}"`,
    set: (name, value) => `set "${name}=${refuseForCmd(value)}"`,
    unset: (name) => `set "${name}="`,
    comment: 'rem',
  },
}

/** Matches words that every shell takes literally. `=` is special at the start of a word. */
const PLAIN = /^[\w./@-][\w.:,/@=+-]*$/

/** Returns the text as one word, always quoted. */
export const quoteForShell = (text: string, shell: Shell = 'bash'): string => DIALECTS[shell].quote(text)

/** Returns the text as one word, quoted if the shell requires it. */
export const shellWord = (text: string, shell: Shell = 'bash'): string =>
  PLAIN.test(text) ? text : quoteForShell(text, shell)

/** Matches texts that every shell takes literally between double quotes. */
const PLAIN_IN_QUOTES = /^[\w .:,/@=+-]*$/

/** Returns the text as one word of a POSIX shell, in double quotes if the shell takes the text literally there. */
export const quotedWord = (text: string): string => (PLAIN_IN_QUOTES.test(text) ? `"${text}"` : quoteForShell(text))

/** Returns the line that sets an environment variable or, if `value` is undefined, removes it. */
export const setVariable = (name: string, value: string | undefined, shell: Shell): string =>
  value === undefined ? DIALECTS[shell].unset(name) : DIALECTS[shell].set(name, value)

/** Returns the text as a comment of one line, without characters that could end the comment. */
export const shellComment = (text: string, shell: Shell): string =>
  `${DIALECTS[shell].comment} ${text.replace(shell === 'cmd' ? /[^\w .,:'/-]/g : /\p{Cc}|\p{Zl}|\p{Zp}/gu, ' ')}`
