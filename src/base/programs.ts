import { accessSync, constants } from 'node:fs'
import path from 'node:path'

/** The first of these directories' files of that name that may be run. */
export const findProgram = (name: string, directories: readonly string[]): string | undefined =>
  directories
    .filter((directory) => directory !== '')
    .map((directory) => path.join(directory, name))
    .find(isProgram)

/** The directories of a variable such as PATH. */
export const directoriesOf = (searchPath: string): string[] => searchPath.split(path.delimiter)

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
