import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nearest } from '../../base/nearest.js'
import { LabError } from '../lab-error.js'
import type { Drill } from './drill.js'
import { parseDrill, readDrillFile } from './parse.js'

/** The drills that ship with the package, as files. */
const directory = (): string => fileURLToPath(new URL('./catalogue/', import.meta.url))

export const listDrillNames = (): string[] => {
  if (!existsSync(directory())) return []
  return readdirSync(directory())
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.replace(/\.yaml$/, ''))
    .sort()
}

export const listDrills = (): Drill[] => listDrillNames().map((name) => parseDrill(drillText(name), `${name}.yaml`))

/** The text of the file of a drill that ships with the package, or of one's own. */
export const drillText = (nameOrFile: string): string => {
  if (isFile(nameOrFile)) return readFileSync(nameOrFile, 'utf8')
  requireName(nameOrFile)
  return readFileSync(`${directory()}${nameOrFile}.yaml`, 'utf8')
}

/** By name, or from a file: what has a slash or ends like a YAML file is one. Throws a usage error. */
export const loadDrill = (nameOrFile: string): Drill => {
  if (isFile(nameOrFile)) return readDrillFile(nameOrFile)
  requireName(nameOrFile)
  return readDrillFile(`${directory()}${nameOrFile}.yaml`)
}

const isFile = (nameOrFile: string): boolean => /[/\\]|\.ya?ml$/.test(nameOrFile)

const requireName = (name: string): void => {
  const names = listDrillNames()
  if (names.includes(name)) return
  const guess = nearest(name, names)
  throw new LabError(
    'usage',
    `there is no drill "${name}"${guess ? `; did you mean "${guess}"?` : ''} "understudy drill list" lists them; a file of your own ends in .yaml`,
  )
}
