import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nearest } from '../../base/nearest.js'
import { isDocumentFile, readDocumentFile } from '../documents/yaml-document.js'
import { LabError } from '../model/lab-error.js'
import { type Drill, readDrillFile } from './parse.js'

const directory = (): string => fileURLToPath(new URL('./catalogue/', import.meta.url))

export const listDrillNames = (): string[] =>
  readdirSync(directory())
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.replace(/\.yaml$/, ''))
    .sort()

export const listDrills = (): Drill[] => listDrillNames().map(loadDrill)

/** Returns the path of a drill file, or the file of an included drill. Throws LabError `usage` for an unknown name. */
const fileOf = (nameOrFile: string): string => {
  if (isDocumentFile(nameOrFile)) return nameOrFile
  const names = listDrillNames()
  if (names.includes(nameOrFile)) return `${directory()}${nameOrFile}.yaml`
  const guess = nearest(nameOrFile, names)
  throw new LabError(
    'usage',
    `there is no drill "${nameOrFile}"; ${guess ? `did you mean "${guess}"? ` : ''}"understudy drill list" lists the included drills; the name of a drill file ends in .yaml`,
  )
}

export const drillText = (nameOrFile: string): string => readDocumentFile(fileOf(nameOrFile))

/** Loads a drill by name or from a file. Throws LabError `usage` if the drill does not exist or is invalid. */
export const loadDrill = (nameOrFile: string): Drill => readDrillFile(fileOf(nameOrFile))
