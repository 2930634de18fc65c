const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Returns statements as a list. A client may send a list, one text with several statements, a JSON list as text, or one
 * of the latter in base64. The records contain what the client sent.
 */
const parseStatements = (given: readonly string[]): string[] => {
  const [only] = given
  if (given.length !== 1 || only === undefined) return [...given]
  const text = BASE64.test(only) ? Buffer.from(only, 'base64').toString('utf8') : only
  if (!text.trimStart().startsWith('[')) return text === '' ? [] : [text]
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list) && list.every((item) => typeof item === 'string')) return list
  } catch {
    // The text is a statement.
  }
  return [text]
}

type Values = Readonly<Record<string, string>>

/**
 * Parses statements, or uses the defaults if there are none, and replaces `{{key}}` by the value of the key. Other
 * braces stay.
 */
export const fillStatements = (
  statements: readonly string[],
  values: Values,
  defaults: readonly string[] = [],
): string[] => {
  const parsed = parseStatements(statements)
  return (parsed.length > 0 ? parsed : defaults).map((statement) => fillText(statement, values))
}

export const fillText = (text: string, values: Values): string =>
  text.replaceAll(/\{\{(\w+)\}\}/g, (whole, key: string) => (Object.hasOwn(values, key) ? (values[key] ?? '') : whole))
