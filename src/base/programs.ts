import { accessSync, constants } from 'node:fs'
import path from 'node:path'

/** Returns the first executable file with this name in the directories; undefined if there is none. */
export const findProgram = (name: string, directories: readonly string[]): string | undefined =>
  directories
    .filter((directory) => directory !== '')
    .map((directory) => path.join(directory, name))
    .find(isProgram)

/** Returns the directories in a variable such as PATH. */
export const directoriesOf = (searchPath: string): string[] => searchPath.split(path.delimiter)

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
