import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build, type Plugin } from 'esbuild'
import { loadBundle } from '../src/base/load-bundle.js'

/**
 * Bundles the program, the library and their packages into one CommonJS file. Loading hundreds of small files would take a
 * third of the time to the first response of a server, and V8 can save the compiled code of one file. Each compiled entry
 * file only loads the bundle. All other compiled modules stay for programs that import them.
 */
const [dist = path.join(import.meta.dirname, '..', 'dist')] = process.argv.slice(2)
const BUNDLE = path.join(dist, 'bundle')
const COMMON_JS = path.join(dist, 'cjs')
const PROGRAM = path.join(BUNDLE, 'understudy.cjs')

/** The modules that other files load from the bundle, and the purpose of their process as an expression. */
const BUNDLED: Readonly<Record<string, string>> = {
  'cli/program.js': "process.argv[process.argv[2] === 'vault' ? 3 : 2] === 'server' ? 'server' : 'command'",
  'cli/completion/shipped.js': "'command'",
  'cli/run-container.js': "'server'",
  'cli/host-entrypoint.js': "'host'",
  'index.js': "'library'",
  'testcontainers/index.js': "'library'",
}

/** Small files that run before the bundle is loaded, and the loader itself. */
const ENTRIES = [
  { in: path.join(dist, 'main.js'), out: 'main' },
  { in: path.join(dist, 'cli/container-entrypoint.js'), out: 'container-entrypoint' },
  { in: path.join(dist, 'base/load-bundle.js'), out: 'load' },
]

/** Files that only load a module from the bundle. */
const LOADERS = [
  { file: path.join(BUNDLE, 'host.cjs'), module: 'cli/host-entrypoint.js' },
  { file: path.join(COMMON_JS, 'index.cjs'), module: 'index.js' },
  { file: path.join(COMMON_JS, 'testcontainers.cjs'), module: 'testcontainers/index.js' },
] as const

/** The CommonJS entries of the library, each with an ES module of the same name. */
const LIBRARIES = [
  { file: 'index.js', out: 'index' },
  { file: 'testcontainers/index.js', out: 'testcontainers' },
] as const

/** Bundles packages that modules require, and replaces `import.meta.url` of a module by the URL of its compiled file. */
const keepModuleUrls: Plugin = {
  name: 'keep-module-urls',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, 'utf8')
      if (!text.includes('import.meta.url') || file.includes('node_modules')) return undefined
      const url = `new URL(${pathFrom(BUNDLE, file)}, require('node:url').pathToFileURL(__filename)).href`
      const required = text.replaceAll(/createRequire\(import\.meta\.url\)(?=\()/g, 'require')
      return { contents: required.replaceAll('import.meta.url', url), loader: 'js' }
    })
  },
}

/** Returns the relative path of a file as a string literal. */
const pathFrom = (directory: string, file: string): string => {
  const relative = path.relative(directory, file).split(path.sep).join('/')
  return JSON.stringify(relative.startsWith('.') ? relative : `./${relative}`)
}

const COMMON = { bundle: true, platform: 'node', target: 'node20', write: false, metafile: true } as const

/**
 * Packages outside of the bundle:
 *
 * - packages with native code
 * - openpgp: its license requires that users can replace it
 * - testcontainers: the user installs it
 */
const OUTSIDE = ['bcrypt', 'classic-level', 'openpgp', 'testcontainers']

/** Bundles CommonJS, because Node 20 and some test runners cannot require ES modules, and because it loads faster. */
const COMMON_CJS = {
  ...COMMON,
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  external: OUTSIDE,
  // Late imports of packages become late requires.
  supported: { 'dynamic-import': false },
  // Stack traces stay readable with the original names.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
} as const

/** The value of the file as a script is a function; see `base/load-bundle.ts`. As a module, the file calls the function. */
const PARAMETERS = 'exports, require, module, __filename, __dirname'
const AS_SCRIPT = {
  banner: { js: `(run => typeof arguments === 'undefined' ? run : run(${PARAMETERS}))(function (${PARAMETERS}) {` },
  footer: { js: '})' },
}

const program = await build({
  ...COMMON_CJS,
  ...AS_SCRIPT,
  stdin: {
    contents: `module.exports = { ${Object.keys(BUNDLED).map((file) => `'${file}': () => require('./${file}')`)} }`,
    resolveDir: dist,
  },
  outfile: PROGRAM,
  plugins: [keepModuleUrls],
})
const [{ contents: programCode } = { contents: new Uint8Array() }] = program.outputFiles
if (programCode.some((byte) => byte > 127))
  throw new Error('the bundle is not ASCII, which is fastest to read: escape the characters of regular expressions')
const BUILD = createHash('sha256').update(programCode).digest('hex')

/** Returns the code that loads a module from the bundle. */
const loadFrom = (
  directory: string,
  module: string,
): string => `const { ${loadBundle.name} } = require(${pathFrom(directory, path.join(BUNDLE, 'load.cjs'))})
const file = require('node:path').join(__dirname, ${pathFrom(directory, PROGRAM)})
module.exports = ${loadBundle.name}({ file, build: '${BUILD}', purpose: ${BUNDLED[module]} })['${module}']()
`

/** Loads modules of the bundle from there. */
const loadBundled: Plugin = {
  name: 'load-bundled',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^\./ }, ({ path: imported, resolveDir }) => {
      const module = path.relative(dist, path.join(resolveDir, imported)).split(path.sep).join('/')
      return module in BUNDLED ? { path: module, namespace: 'bundled' } : undefined
    })
    onResolve({ filter: /load\.cjs$/ }, ({ path: file }) => ({ path: file, external: true }))
    onLoad({ filter: /./, namespace: 'bundled' }, ({ path: module }) => ({ contents: loadFrom(BUNDLE, module) }))
  },
}

const entries = await build({
  ...COMMON_CJS,
  entryPoints: ENTRIES,
  outdir: BUNDLE,
  plugins: [loadBundled, keepModuleUrls],
})

/** Bundles the lab daemon into one CommonJS file, which needs less memory. */
const daemon = await build({
  ...COMMON,
  entryPoints: [{ in: path.join(dist, 'cli/lab-daemon-entrypoint.js'), out: 'lab-daemon' }],
  outdir: BUNDLE,
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  plugins: [keepModuleUrls],
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
const built = [program, entries, daemon, page].flatMap(({ outputFiles }) => outputFiles)
await Promise.all(built.map(({ path: file, contents }) => write(file, contents)))
// The nearest package.json determines the module system of declarations.
await write(path.join(COMMON_JS, 'package.json'), '{ "type": "commonjs" }\n')
for (const { file, module } of LOADERS) await write(file, loadFrom(path.dirname(file), module))
process.env.NODE_DISABLE_COMPILE_CACHE = '1'
const requireHere = createRequire(import.meta.url)
for (const { file, out } of LIBRARIES) {
  const entry = path.join(dist, file)
  for (const declared of await findDeclarations(entry.replace(/\.js$/, '.d.ts'))) {
    await write(path.join(COMMON_JS, path.relative(dist, declared)), await readFile(declared))
  }
  const library = path.join(COMMON_JS, `${out}.cjs`)
  const names = Object.keys(requireHere(library) as object)
  // An import statement would first scan the file for names.
  await write(
    entry,
    `import { createRequire } from 'node:module'
const library = createRequire(import.meta.url)(${pathFrom(path.dirname(entry), library)})
export const { ${names.join(', ')} } = library
`,
  )
}
await write(path.join(dist, 'main.js'), "#!/usr/bin/env node\nimport './bundle/main.cjs'\n")

/** Collects the licenses of the bundled packages, which must be distributed with the bundle. */
const licenses = async (): Promise<string> => {
  const inputs = [program, entries, daemon, page].flatMap(({ metafile }) => Object.keys(metafile.inputs))
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
