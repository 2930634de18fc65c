import { rmSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { bundle } from './bundle.js'
import type { Plan } from './plan.js'
import type * as Simulation from './simulate.js'

/** A small change of the product that breaks a promise. */
export interface Bug {
  readonly name: string
  /** Path below `src`. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly from: string
  readonly to: string
  /** Selects the plans that can show the bug. Without it, all plans can. */
  readonly needs?: (plan: Plan) => boolean
}

/** Loads the simulation with a copy of the product that contains this bug. */
export const loadPlanted = async (bug: Bug): Promise<typeof Simulation> => {
  const file = await bundle('simulate.ts', bug.name, (one, text) =>
    one === `src/${bug.file}` ? plant(bug, text) : text,
  )
  try {
    return (await import(pathToFileURL(file).href)) as typeof Simulation
  } finally {
    rmSync(file)
  }
}

/** Changes the text of the file of the bug. Throws an Error if the text to change does not occur exactly once. */
export const plant = ({ name, from, to }: Bug, text: string): string => {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`"${name}" changes a line that occurs ${parts.length - 1} times`)
  return parts.join(to)
}
