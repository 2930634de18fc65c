import { invalid } from '../../logical/errors.js'

const FORM = /^(?:https:\/\/)?(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9.])?)(?::(\d{1,5}))?\/?$/i

/**
 * Parses the address that secondaries receive instead of the configured address. Returns it as `https://host:port`, or
 * an empty string for empty input. Throws a 400 error if the address is invalid, because secondaries would detect the
 * error much later.
 */
export const parsePrimaryClusterAddr = (text: string): string => {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  const [, host, digits] = FORM.exec(trimmed) ?? []
  const port = digits === undefined && /^https:/i.test(trimmed) ? 443 : Number(digits ?? 0)
  const isGood = host !== undefined && port >= 1 && port <= 65_535 && URL.canParse(`https://${host}:${port}`)
  if (!isGood)
    throw invalid(`invalid primary_cluster_addr ${JSON.stringify(text)}: it must be host:port or https://host:port`)
  return `https://${host}:${port}`
}
