import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const ROOT = path.join(import.meta.dirname, '..', '..')
/** The bundle is stored within the package, so that its dependencies are resolved from there. */
const BUILT = path.join(ROOT, 'node_modules', '.cache', 'simulation')

/** `file` is relative to the package. */
type Change = (file: string, text: string) => string

/**
 * Bundles a program of this directory and the product code that it needs into one file, which the caller removes. The
 * bundle runs a quarter faster than separate files, which loaders wrap. `change` returns the new text of a file.
 */
export const bundle = async (program: string, name: string, change: Change = (_, text) => text): Promise<string> => {
  mkdirSync(BUILT, { recursive: true })
  const outfile = path.join(BUILT, `${name.replaceAll(/[^a-z0-9]+/g, '-')}-${process.pid}.mjs`)
  await build({
    entryPoints: [path.join(import.meta.dirname, program)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
    plugins: [{ name: 'change', setup: ({ onLoad }) => onLoad({ filter: /\/(src|test)\/.*\.ts$/ }, load(change)) }],
  })
  return outfile
}

const load =
  (change: Change) =>
  ({ path: file }: { readonly path: string }) => {
    const text = change(path.relative(ROOT, file), readFileSync(file, 'utf8'))
    // The location of the bundle differs from that of its sources, so paths relative to the sources are replaced.
    return {
      contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href)),
      loader: 'ts' as const,
    }
  }
