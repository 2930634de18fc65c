import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { build, type Plugin } from 'esbuild'

/**
 * Joins the program's compiled modules into a few files, since reading hundreds of small ones takes a third of the time to
 * a server's first answer. What is imported late stays apart, and packages stay where they are. The compiled entry files
 * become one import each; everything else that was compiled stays for those who import it.
 */
const [dist = path.join(import.meta.dirname, '..', 'dist')] = process.argv.slice(2)
const BUNDLE = path.join(dist, 'bundle')

/** Entry files and how they name the bundle. */
const ENTRIES = [
  { name: 'main', file: 'main.js' },
  { name: 'container-entrypoint', file: 'cli/container-entrypoint.js' },
] as const

/** A module that asks where it lies is told where it was compiled to. */
const keepPlaces: Plugin = {
  name: 'keep-places',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8')
      if (!text.includes('import.meta.url')) return undefined
      const place = JSON.stringify(path.relative(BUNDLE, file).split(path.sep).join('/'))
      return { contents: text.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`), loader: 'js' }
    })
  },
}

const { outputFiles } = await build({
  entryPoints: ENTRIES.map(({ name, file }) => ({ in: path.join(dist, file), out: name })),
  outdir: BUNDLE,
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  write: false,
  plugins: [keepPlaces],
})
await rm(BUNDLE, { recursive: true, force: true })
await mkdir(BUNDLE, { recursive: true })
await Promise.all(outputFiles.map(({ path: file, contents }) => writeFile(file, contents)))
for (const { name, file } of ENTRIES) {
  const place = path.join(dist, file)
  const bundled = path
    .relative(path.dirname(place), path.join(BUNDLE, `${name}.js`))
    .split(path.sep)
    .join('/')
  await writeFile(place, `#!/usr/bin/env node\nimport '${bundled.startsWith('.') ? bundled : `./${bundled}`}'\n`)
}

/** Files that are read at run time lie where the compiled modules look for them. */
const source = path.join(import.meta.dirname, '..', 'src')
for (const name of await readdir(source, { recursive: true })) {
  if (/\.(?:yaml|css|html)$|\.schema\.json$/.test(name)) await cp(path.join(source, name), path.join(dist, name))
}
