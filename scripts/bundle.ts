import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build, type Plugin } from 'esbuild'

/**
 * Joins the program's compiled modules and the packages that they use into a few files: finding and reading hundreds of
 * small ones takes a third of the time to a server's first answer. What is imported late stays apart. The compiled entry
 * files become one import each; all other compiled modules stay for programs that import them.
 */
const [dist = path.join(import.meta.dirname, '..', 'dist')] = process.argv.slice(2)
const BUNDLE = path.join(dist, 'bundle')

/** Entry files and how they name the bundle. */
const ENTRIES = [
  { name: 'main', file: 'main.js' },
  { name: 'container-entrypoint', file: 'cli/container-entrypoint.js' },
  { name: 'host-entrypoint', file: 'cli/host-entrypoint.js' },
] as const

/** A module that asks where it lies is told where it was compiled to. */
const keepPlaces = (bundle: string, here: string): Plugin => ({
  name: 'keep-places',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8')
      if (!text.includes('import.meta.url') || file.includes('node_modules')) return undefined
      const place = JSON.stringify(path.relative(bundle, file).split(path.sep).join('/'))
      return { contents: text.replaceAll('import.meta.url', `new URL(${place}, ${here}).href`), loader: 'js' }
    })
  },
})

const COMMON = { bundle: true, platform: 'node', target: 'node20', write: false, metafile: true } as const

/**
 * Packages that stay outside of the bundle: those with native code, openpgp, whose license asks that it can be replaced, and
 * those in the older form of modules that are imported late, whose names a bundle would lose.
 */
const OUTSIDE = [
  '@peculiar/x509',
  'bcrypt',
  'classic-level',
  'openpgp',
  'prom-client',
  'reflect-metadata',
  'testcontainers',
]

const program = await build({
  ...COMMON,
  entryPoints: ENTRIES.map(({ name, file }) => ({ in: path.join(dist, file), out: name })),
  outdir: BUNDLE,
  chunkNames: '[name]-[hash]',
  splitting: true,
  format: 'esm',
  external: OUTSIDE,
  // Packages in the older form of modules ask for Node's own modules at run time.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  // Names stay as they are, so that stack traces can be read.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  plugins: [keepPlaces(BUNDLE, 'import.meta.url')],
})

for (const { entryPoint = '', exports } of Object.values(program.metafile.outputs))
  if (entryPoint.includes('node_modules') && exports.join() === 'default')
    throw new Error(`${entryPoint} is imported late and would lose its names: add its package to OUTSIDE`)

/**
 * The library is bundled for `require`: Node 20 cannot require ES modules, and some test runners load everything so. Packages
 * that are nothing but ES modules are part of it, and what is imported late is required late. Who imports gets the same code
 * by a file of names, which is quicker than ES modules on top of packages that are none, and every class is there once.
 */
const COMMON_JS = path.join(dist, 'cjs')
const { dependencies } = JSON.parse(await readFile(path.join(dist, '..', 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}
const ES_MODULES_ONLY: readonly string[] = ['jose']
const external = ['testcontainers', ...Object.keys(dependencies).filter((name) => !ES_MODULES_ONLY.includes(name))]

/** Classes that people compare with are there once: other entries take them from the library. */
const shareClasses: Plugin = {
  name: 'share-classes',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/(?:lab-error|api-client)\.js$/ }, () => ({ path: './index.cjs', external: true }))
  },
}

const buildForRequire = (file: string, out: string, plugins: readonly Plugin[]) =>
  build({
    ...COMMON,
    entryPoints: [{ in: path.join(dist, file), out }],
    outdir: COMMON_JS,
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    external: external.flatMap((name) => [name, `${name}/*`]),
    supported: { 'dynamic-import': false },
    plugins: [keepPlaces(COMMON_JS, "require('node:url').pathToFileURL(__filename)"), ...plugins],
  })

/** What can be required, and its ES module of the same names. */
const LIBRARIES = [
  { file: 'index.js', out: 'index', plugins: [] },
  { file: 'testcontainers/index.js', out: 'testcontainers', plugins: [shareClasses] },
] as const
const required = await Promise.all(LIBRARIES.map(({ file, out, plugins }) => buildForRequire(file, out, plugins)))

/** In one file and in the older form of modules, which takes less memory in a process that does little. */
const daemon = await build({
  ...COMMON,
  entryPoints: [{ in: path.join(dist, 'cli/lab-daemon-entrypoint.js'), out: 'lab-daemon' }],
  outdir: BUNDLE,
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  plugins: [keepPlaces(BUNDLE, "require('node:url').pathToFileURL(__filename)")],
  minifySyntax: true,
  minifyWhitespace: true,
})

/** The page of a lab, for browsers: all of it in one file, and its style in another. */
const SOURCE = path.join(import.meta.dirname, '..', 'src')
const page = await build({
  ...COMMON,
  platform: 'browser',
  target: 'es2022',
  entryPoints: [
    { in: path.join(SOURCE, 'web/main.tsx'), out: 'page' },
    { in: path.join(SOURCE, 'web/page.css'), out: 'page' },
  ],
  outdir: path.join(dist, 'web'),
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
})

/** Declarations that an entry leads to. */
const findDeclarations = async (file: string, found = new Set<string>()): Promise<Set<string>> => {
  if (found.has(file)) return found
  found.add(file)
  const text = await readFile(file, 'utf8')
  for (const [, specifier = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)['"]/g)) {
    await findDeclarations(path.resolve(path.dirname(file), specifier.replace(/\.js$/, '.d.ts')), found)
  }
  return found
}

await rm(BUNDLE, { recursive: true, force: true })
await rm(COMMON_JS, { recursive: true, force: true })
const write = async (file: string, contents: string | Uint8Array): Promise<void> => {
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, contents)
}
const built = [
  ...program.outputFiles,
  ...required.flatMap((library) => library.outputFiles),
  ...daemon.outputFiles,
  ...page.outputFiles,
]
await Promise.all(built.map(({ path: file, contents }) => write(file, contents)))
// Types are of the module system of the nearest package.json.
await write(path.join(COMMON_JS, 'package.json'), '{ "type": "commonjs" }\n')
const requireHere = createRequire(import.meta.url)
for (const { file, out } of LIBRARIES) {
  const entry = path.join(dist, file)
  for (const declared of await findDeclarations(entry.replace(/\.js$/, '.d.ts'))) {
    await write(path.join(COMMON_JS, path.relative(dist, declared)), await readFile(declared))
  }
  const bundle = path.join(COMMON_JS, `${out}.cjs`)
  const names = Object.keys(requireHere(bundle) as object)
  const specifier = path.relative(path.dirname(entry), bundle).split(path.sep).join('/')
  // An import would look through the whole file for names first, which takes longer than all the rest.
  await write(
    entry,
    `import { createRequire } from 'node:module'
const library = createRequire(import.meta.url)('${specifier.startsWith('.') ? specifier : `./${specifier}`}')
export const { ${names.join(', ')} } = library
`,
  )
}
for (const { name, file } of ENTRIES) {
  const place = path.join(dist, file)
  const bundled = path
    .relative(path.dirname(place), path.join(BUNDLE, `${name}.js`))
    .split(path.sep)
    .join('/')
  await writeFile(place, `#!/usr/bin/env node\nimport '${bundled.startsWith('.') ? bundled : `./${bundled}`}'\n`)
}

/** The licenses of the packages that are part of a bundle, which ask to be handed on with it. */
const licenses = async (): Promise<string> => {
  const inputs = [program, ...required, daemon, page].flatMap(({ metafile }) => Object.keys(metafile.inputs))
  const folders = inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [])
  const texts = [...new Set(folders)].sort().map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as {
      [field in 'name' | 'version' | 'license']: string
    }
    const file = (await readdir(folder)).find((entry) => /^(?:licen[cs]e|copying)/i.test(entry))
    const text = file === undefined ? '' : await readFile(path.join(folder, file), 'utf8')
    return `${name} ${version} (${license})\n\n${text.trim()}\n`
  })
  return (await Promise.all(texts)).join(`\n${'-'.repeat(80)}\n\n`)
}
await write(path.join(dist, 'third-party-licenses.txt'), await licenses())

/** Files that are read at run time lie where the compiled modules look for them. */
for (const name of await readdir(SOURCE, { recursive: true })) {
  if (name.startsWith(`web${path.sep}`) && name.endsWith('.css')) continue
  if (/\.(?:yaml|css|html|svg)$|\.schema\.json$/.test(name)) await cp(path.join(SOURCE, name), path.join(dist, name))
}

/** What completions offer is known once all is compiled, and the files lie there that are read at run time. */
const { shippedWords } = (await import(path.join(dist, 'cli/completion/shipped.js'))) as {
  shippedWords: () => object
}
await write(path.join(dist, 'cli/completion/words.json'), JSON.stringify(shippedWords()))
