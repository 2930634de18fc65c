import { writeFileSync } from 'node:fs'
import { referencePages } from './support/reference.js'

/** Writes the pages of docs/reference that are generated from the program. */
for (const [file, text] of referencePages()) {
  writeFileSync(file, text)
  console.log(file)
}
