import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import type * as Simulation from './simulate.js'

/** A small change of the product that breaks a promise. */
export interface Bug {
  readonly name: string
  /** Below `src`. */
  readonly file: string
  /** Occurs exactly once in it. */
  readonly from: string
  readonly to: string
}

const ROOT = path.join(import.meta.dirname, '..', '..')
/** Within the package, so that its dependencies are found from there. */
const BUILT = path.join(ROOT, 'node_modules', '.cache', 'simulation')

/** The simulation, over a copy of the product that has this bug. */
export const loadPlanted = async (bug: Bug): Promise<typeof Simulation> => {
  mkdirSync(BUILT, { recursive: true })
  const outfile = path.join(BUILT, `${bug.name.replaceAll(/[^a-z0-9]+/g, '-')}-${process.pid}.mjs`)
  await build({
    entryPoints: [path.join(import.meta.dirname, 'simulate.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
    plugins: [plant(bug)],
  })
  try {
    return (await import(pathToFileURL(outfile).href)) as typeof Simulation
  } finally {
    rmSync(outfile)
  }
}

const plant = (bug: Bug): Plugin => ({
  name: 'plant',
  setup({ onLoad }) {
    onLoad({ filter: /\/(src|test)\/.*\.ts$/ }, ({ path: file }) => {
      const text = readFileSync(file, 'utf8')
      const changed = file === path.join(ROOT, 'src', bug.file) ? change(bug, text) : text
      // Where the copy lies says nothing of where the files lie that it reads.
      return { contents: changed.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href)), loader: 'ts' }
    })
  },
})

const change = ({ name, from, to }: Bug, text: string): string => {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`"${name}" changes a line that occurs ${parts.length - 1} times`)
  return parts.join(to)
}
