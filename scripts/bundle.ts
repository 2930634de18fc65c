import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build, type Plugin } from 'esbuild'

/**
 * Bundles the compiled modules of the program and their packages into a few files. Loading hundreds of small files
 * would take a third of the time to the first response of a server. Modules that are imported late stay separate files.
 * Each compiled entry file only imports its bundle. All other compiled modules stay for programs that import them.
 */
const [dist = path.join(import.meta.dirname, '..', 'dist')] = process.argv.slice(2)
const BUNDLE = path.join(dist, 'bundle')

/** Entry files and the names of their bundles. */
const ENTRIES = [
  { name: 'main', file: 'main.js' },
  { name: 'container-entrypoint', file: 'cli/container-entrypoint.js' },
  { name: 'host-entrypoint', file: 'cli/host-entrypoint.js' },
] as const

/** Replaces `import.meta.url` of a module by the URL of its compiled file. */
const keepModuleUrls = (bundle: string, here: string): Plugin => ({
  name: 'keep-module-urls',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8')
      if (!text.includes('import.meta.url') || file.includes('node_modules')) return undefined
      const relative = JSON.stringify(path.relative(bundle, file).split(path.sep).join('/'))
      return { contents: text.replaceAll('import.meta.url', `new URL(${relative}, ${here}).href`), loader: 'js' }
    })
  },
})

const COMMON = { bundle: true, platform: 'node', target: 'node20', write: false, metafile: true } as const

/**
 * Packages outside of the bundle:
 *
 * - packages with native code
 * - openpgp: its license requires that users can replace it
 * - CommonJS packages that are imported late: a bundle would lose their named exports
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
  // CommonJS packages require the modules of Node at run time.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  // Stack traces stay readable with the original names.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  plugins: [keepModuleUrls(BUNDLE, 'import.meta.url')],
})

for (const { entryPoint = '', exports } of Object.values(program.metafile.outputs))
  if (entryPoint.includes('node_modules') && exports.join() === 'default')
    throw new Error(`${entryPoint} is imported late and would lose its names: add its package to OUTSIDE`)

/**
 * Bundles the library as CommonJS, because Node 20 and some test runners cannot require ES modules. Late imports become
 * late requires. ES modules re-export the CommonJS bundle, which is faster, and each class exists once.
 */
const COMMON_JS = path.join(dist, 'cjs')
const { dependencies } = JSON.parse(await readFile(path.join(dist, '..', 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>
}
const external = ['testcontainers', ...Object.keys(dependencies)]

/** Other entries take these classes from the library, so that `instanceof` works across entries. */
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
    plugins: [keepModuleUrls(COMMON_JS, "require('node:url').pathToFileURL(__filename)"), ...plugins],
  })

/** The CommonJS entries, each with an ES module of the same name. */
const LIBRARIES = [
  { file: 'index.js', out: 'index', plugins: [] },
  { file: 'testcontainers/index.js', out: 'testcontainers', plugins: [shareClasses] },
] as const
const required = await Promise.all(LIBRARIES.map(({ file, out, plugins }) => buildForRequire(file, out, plugins)))

/** Bundles the lab daemon into one CommonJS file, which needs less memory. */
const daemon = await build({
  ...COMMON,
  entryPoints: [{ in: path.join(dist, 'cli/lab-daemon-entrypoint.js'), out: 'lab-daemon' }],
  outdir: BUNDLE,
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  plugins: [keepModuleUrls(BUNDLE, "require('node:url').pathToFileURL(__filename)")],
  minifySyntax: true,
  minifyWhitespace: true,
})

/** Bundles the page for browsers: one file of code, and one of style. */
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

/** Returns the declaration files that an entry imports, directly or indirectly. */
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
// The nearest package.json determines the module system of declarations.
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
  // An import statement would first scan the whole file for names, which takes longer than loading it.
  await write(
    entry,
    `import { createRequire } from 'node:module'
const library = createRequire(import.meta.url)('${specifier.startsWith('.') ? specifier : `./${specifier}`}')
export const { ${names.join(', ')} } = library
`,
  )
}
for (const { name, file } of ENTRIES) {
  const entry = path.join(dist, file)
  const bundled = path
    .relative(path.dirname(entry), path.join(BUNDLE, `${name}.js`))
    .split(path.sep)
    .join('/')
  await writeFile(entry, `#!/usr/bin/env node\nimport '${bundled.startsWith('.') ? bundled : `./${bundled}`}'\n`)
}

/** Collects the licenses of the bundled packages, which must be distributed with the bundle. */
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

/** Copies the files that are read at run time to the directories from which the compiled modules read them. */
for (const name of await readdir(SOURCE, { recursive: true })) {
  if (name.startsWith(`web${path.sep}`) && name.endsWith('.css')) continue
  if (/\.(?:yaml|css|html|svg|sh)$|\.schema\.json$/.test(name)) await cp(path.join(SOURCE, name), path.join(dist, name))
}

/** Writes the completions, which need the compiled program and its run-time files. */
const { shippedWords } = (await import(path.join(dist, 'cli/completion/shipped.js'))) as {
  shippedWords: () => object
}
await write(path.join(dist, 'cli/completion/words.json'), JSON.stringify(shippedWords()))
