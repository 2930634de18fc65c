import { readFileSync } from 'node:fs'

export const packageVersion = (): string => {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
