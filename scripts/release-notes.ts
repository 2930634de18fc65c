import { readFileSync } from 'node:fs'
import path from 'node:path'
import { releaseNotesOf, versionOfTag } from './support/release-notes.js'
import { ROOT } from './support/run.js'

/**
 * Prints the notes of a release: the section of CHANGELOG.md for the version that a tag names. Fails if the tag does
 * not match package.json, or if the changelog has no such section.
 *
 *   tsx scripts/release-notes.ts v1.2.3
 */
const read = (name: string): string => readFileSync(path.join(ROOT, name), 'utf8')

try {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  console.log(releaseNotesOf(read('CHANGELOG.md'), versionOfTag(process.argv[2] ?? '', version)))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
