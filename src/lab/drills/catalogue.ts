import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nearest } from '../../base/nearest.js'
import { isDocumentFile, readDocumentFile } from '../documents/yaml-document.js'
import { LabError } from '../model/lab-error.js'
import { type Drill, readDrillFile } from './parse.js'

/** Returns the directory of the bundled drill files. */
const directory = (): string => fileURLToPath(new URL('./catalogue/', import.meta.url))

export const listDrillNames = (): string[] => {
  if (!existsSync(directory())) return []
  return readdirSync(directory())
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.replace(/\.yaml$/, ''))
    .sort()
}

export const listDrills = (): Drill[] => listDrillNames().map(loadDrill)

/** Returns the text of a bundled drill, or of a drill file of the user. */
export const drillText = (nameOrFile: string): string => {
  if (isDocumentFile(nameOrFile)) return readDocumentFile(nameOrFile)
  requireName(nameOrFile)
  return readFileSync(`${directory()}${nameOrFile}.yaml`, 'utf8')
}

/** Loads a drill by name or from a file. Throws a usage error if it does not exist or is invalid. */
export const loadDrill = (nameOrFile: string): Drill => {
  if (isDocumentFile(nameOrFile)) return readDrillFile(nameOrFile)
  requireName(nameOrFile)
  return readDrillFile(`${directory()}${nameOrFile}.yaml`)
}

const requireName = (name: string): void => {
  const names = listDrillNames()
  if (names.includes(name)) return
  const guess = nearest(name, names)
  throw new LabError(
    'usage',
    `there is no drill "${name}"; ${guess ? `did you mean "${guess}"? ` : ''}"understudy drill list" lists them, and a file of your own ends in .yaml`,
  )
}
