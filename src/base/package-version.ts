import { readFileSync } from 'node:fs'

/** Returns the version of this package. */
export const packageVersion = (): string => {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
