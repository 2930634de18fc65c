import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseSync, Visitor } from 'vite'
import { describe, expect, it } from 'vitest'
import { KEYS } from '../src/storage/keys/key-families.js'
import { readPage, readPages } from './support/pages.js'
import { LONG_FILES, LONG_LISTS } from './support/tidy-exceptions.js'

/**
 * The layer table of the house, read from the code. An import that crosses a layer the wrong way, a cycle between rooms, a
 * package used outside the room that owns it, or an ambient clock, timer, random number or environment variable fails.
 */
const root = path.join(import.meta.dirname, '..')

/** Room -> rooms whose values it may import. Types may come from the same rooms only. */
const LAYERS: Record<string, readonly string[]> = {
  base: [],
  logical: ['base'],
  crypto: ['base'],
  seal: ['base', 'crypto'],
  client: ['base'],
  storage: ['base', 'logical', 'crypto'],
  auth: ['base', 'logical', 'crypto'],
  secrets: ['base', 'logical', 'crypto'],
  core: ['base', 'logical', 'crypto', 'seal', 'storage'],
  replication: ['base', 'logical', 'crypto', 'seal', 'storage'],
  http: ['base', 'logical'],
  server: ['base', 'logical', 'crypto', 'seal', 'storage', 'auth', 'secrets', 'core', 'replication', 'http'],
  lab: ['base', 'client', 'server'],
  cli: ['server', 'lab', 'client', 'base'],
  main: ['server', 'lab', 'client', 'base', 'cli'],
  index: ['server', 'lab', 'client', 'base'],
  vitest: ['index'],
  testcontainers: ['index', 'lab', 'client', 'base'],
  // Types alone: see below.
  web: ['lab', 'base'],
}

/** All that the page for browsers may know of ours, and only its types. */
const PAGE_TYPES = ['src/lab/web/page-facts.ts', 'src/lab/web/page-job.ts']
/** What it shares with them. */
const PAGE_TOOLS = 'src/base/shell.ts'

/**
 * Room -> its folders in groups, lowest group first. A folder imports only folders of lower groups. `.` stands for the
 * files beside the folders.
 */
const ORDER: Record<string, readonly string[]> = {
  auth: ['approle cert jwt token userpass'],
  cli: ['container terminal', 'commands vault', '.', 'completion'],
  core: [
    'acl namespaces passwords seal status',
    'identity leases mounts',
    'tokens',
    'audit quotas wrapping',
    'pipeline system',
  ],
  http: ['limits message', 'connection request', 'response', '.'],
  lab: [
    'model texts',
    'documents events proxy',
    'requests topology',
    'daemon keys',
    'links processes',
    'containers runner',
    'export hosted status',
    'in-process nodes',
    'operations wiring',
    'attach snapshot',
    'lifecycle',
    'doctor live',
    'drills',
    'library report web',
    'simulated start',
  ],
  replication: ['model', 'filter host rpc', 'credentials forwarding primary secondary', 'roles', 'paths', 'runtime'],
  secrets: ['cubbyhole database identity kv pki ssh totp transit'],
  server: ['config faults', 'data', 'parts', 'wiring', 'runtime', 'dev nodes', 'own-api peers', '.', 'simulated'],
  storage: [
    'keys',
    'engine',
    'shared-log',
    'state',
    'log',
    'trees',
    'commit',
    'sync',
    'store',
    'barrier generations',
    'inspection',
  ],
  web: ['parts', 'actions curves timeline', 'cluster diagram feed', '.'],
}

/** Inner room -> lower neighbours that it must not know, neither values nor types. */
const INNER: Record<string, readonly string[]> = {
  'storage/sync': ['log'],
  'storage/barrier': ['engine', 'log', 'trees', 'commit', 'sync'],
  'replication/credentials': ['rpc'],
  'replication/forwarding': ['filter'],
  'core/audit': ['seal'],
  'core/mounts': ['acl'],
  'web/cluster': ['curves', 'timeline'],
  'web/diagram': ['curves', 'timeline'],
  'server/data': ['faults'],
  'server/peers': ['dev'],
  'server/own-api': ['dev'],
}

/** Package -> the only room that may import it. */
const OWNERS: Record<string, readonly string[]> = {
  level: ['storage'],
  'classic-level': ['storage'],
  express: ['http', 'lab'],
  '@grpc/grpc-js': ['replication', 'storage'],
  '@grpc/proto-loader': ['replication', 'storage'],
  'shamir-secret-sharing': ['seal'],
  openpgp: ['seal'],
  '@noble/curves': ['crypto'],
  '@peculiar/x509': ['crypto'],
  'reflect-metadata': ['crypto'],
  'ipaddr.js': ['base'],
  pino: ['base'],
  bcrypt: ['auth'],
  pg: ['secrets'],
  commander: ['cli'],
  vitest: ['vitest'],
  preact: ['web'],
  uplot: ['web'],
  testcontainers: ['testcontainers'],
  'node:child_process': ['lab', 'server'],
}

/** Ambient facilities -> the rooms that own them; everybody else gets them injected. */
const AMBIENT: readonly { readonly what: RegExp; readonly rooms: readonly string[] }[] = [
  { what: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/, rooms: ['base'] },
  { what: /(?<![.\w])set(?:Timeout|Interval|Immediate)\(/, rooms: ['base'] },
  { what: /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b|\bgetRandomValues\(/, rooms: ['base'] },
  { what: /\bconsole\./, rooms: ['base'] },
  { what: /\bprocess\.env\b/, rooms: ['base', 'server', 'cli', 'lab'] },
  { what: /(?<![.\w])fetch\(/, rooms: ['client', 'base'] },
  { what: /\bprocess\.exit\(|\bprocess\.exitCode\b/, rooms: ['cli', 'main'] },
]

/** Texts that begin as a stored key does and are none: what a ciphertext is bound to, and an example in a document. */
const NO_KEYS = [
  'src/seal/auto-seal.ts: core/',
  'src/seal/auto-seal.ts: core/auto-wrapped-root',
  'src/server/own-api/server-operations.ts: logical/',
]

/** The function in a call that declares a test. */
const TEST_CALL = /^(?:it|test)(?:$|\.(?:each|for|skipIf|runIf|skip|only|fails|concurrent|sequential)\b)/

/** A test name whose first word needs the name of a `describe` before it. */
const FRAGMENT = /^(?:is|are|was|has|have|with|does|goes|gets|of|and|but|or|says)\b/

/** Words that hide who acts, and British spellings. */
const UNCLEAR = /\b(?:somebody|nobody|whoever|anew|licence[sd]?|\w+(?:ialise|ganise|ognise)[sd]?)\b/gi

/** Imported by others than our own: the package, the program, and what a test file gets. */
const ENTRIES = ['src/web/main.tsx', 'src/main.ts', 'src/index.ts', 'src/vitest.ts', 'src/testcontainers/index.ts']

interface Import {
  readonly specifier: string
  readonly isType: boolean
  /** It is imported when it is needed. */
  readonly isLate?: boolean
  /** `*` stands for all there are. */
  readonly names: readonly string[]
}

interface Source {
  readonly file: string
  readonly room: string
  readonly text: string
  readonly imports: readonly Import[]
  /** What is declared here and can be imported. */
  readonly exports: readonly string[]
}

/** Returns a page without its code, quotations and comments. */
const proseOf = (page: string): string => page.replace(/```[\s\S]*?```|`[^`]*`|"[^"\n]*"|<!--[\s\S]*?-->/g, '')

/** The README and the guides, and the other pages beside the README. */
const USER_PAGES = [
  ...readPages(),
  ...['CONTRIBUTING.md', 'SECURITY.md'].map((name) => readPage(name, readFileSync(path.join(root, name), 'utf8'))),
]

const isLongParagraph = (text: string): boolean => !/^\s*(?:[-*]|\d+\.) /m.test(text) && text.split('\n').length > 6

const sentencesOf = (text: string): readonly string[] =>
  text.replaceAll(/`[^`]*`/g, 'code').split(/(?<=[.:?!])\s+|\n\s*(?:[-*]|\d+\.) /)

const isLongSentence = (text: string): boolean => text.split(/\s+/).filter((word) => /\w/.test(word)).length > 30

const roomOf = (file: string): string => {
  const [first = '', ...rest] = path.relative(path.join(root, 'src'), file).split(path.sep)
  return rest.length === 0 ? first.replace(/\.ts$/, '') : first
}

/** Whether a file is in a room, and not beside the rooms. */
const isInside = ({ file }: Pick<Source, 'file'>): boolean =>
  path.relative(path.join(root, 'src'), file).includes(path.sep)

/** The folder of a room in which a file is. */
const folderOf = ({ file }: Pick<Source, 'file'>): string => {
  const [, folder = '', ...deeper] = path.relative(path.join(root, 'src'), file).split(path.sep)
  return deeper.length === 0 ? '.' : folder
}

/** Maximum number of lines of a source file. */
const LINES_MAX = 250
/** A file with fewer lines of its own is short. */
const SHORT_LINES = 25

const countLines = ({ text }: Source): number => text.split('\n').length - 1

/** Counts the lines that are neither empty nor part of an import. */
const countOwnLines = ({ text }: Source): number =>
  text
    .replaceAll(/^import (?:[^']*? from )?'[^']+'$/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '').length

const foldersIn = (group: string): readonly string[] => group.split(' ')

const readSource = (file: string): Source => {
  const text = readFileSync(file, 'utf8')
  const { module, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`)
  const fixed = module.staticImports.map((item) => ({
    specifier: item.moduleRequest.value,
    isType: item.entries.length > 0 && item.entries.every((entry) => entry.isType),
    names: item.entries.map(({ importName }) => importName.name ?? '*'),
  }))
  const again = module.staticExports.flatMap((item) =>
    item.entries.flatMap((entry) =>
      entry.moduleRequest
        ? [{ specifier: entry.moduleRequest.value, isType: entry.isType, names: [entry.importName.name ?? '*'] }]
        : [],
    ),
  )
  const lazy = [...text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)].map(([, specifier = '']) => ({
    specifier,
    isType: false,
    isLate: true,
    names: ['*'],
  }))
  const exports = module.staticExports.flatMap((item) =>
    item.entries.flatMap(({ moduleRequest, exportName }) => (moduleRequest ? [] : (exportName.name ?? []))),
  )
  return { file, room: roomOf(file), text, imports: [...fixed, ...again, ...lazy], exports }
}

const readSources = (folder: string): Source[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('generated'))
    .map((name) => readSource(path.join(root, folder, name)))

const sources = readSources('src')

const packageOf = (specifier: string): string =>
  specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : (specifier.split('/')[0] ?? specifier)

const targetOf = (source: Source, specifier: string): string => {
  const file = path.resolve(path.dirname(source.file), specifier).replace(/\.js$/, '.ts')
  return existsSync(file) ? file : file.replace(/\.ts$/, '.tsx')
}

/** Rooms and their inner rooms; what lies deeper belongs to the room around it. */
const isRoom = (folder: string): boolean => {
  const [room = '', , deeper] = path.relative(path.join(root, 'src'), folder).split(path.sep)
  return room !== '' && deeper === undefined
}

/** Files that a README names, as `machine.ts` or `commit/committer.ts`. */
const filesNamedIn = (text: string): string[] => [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file)

const show = (source: Source) => path.relative(root, source.file)

/** Comments and texts say what they like. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/[^\n]*/g, '')

describe('the code', () => {
  it('the code check reads more than 50 source files', () => {
    expect(sources.length).toBeGreaterThan(50)
  })

  it('every import follows the layer table', () => {
    const wrong = sources.flatMap((source) =>
      source.imports
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => ({ specifier, to: roomOf(targetOf(source, specifier)) }))
        .filter(({ to, specifier }) => {
          if (to === source.room) return crossesBackends(source, targetOf(source, specifier))
          return !(LAYERS[source.room] ?? []).includes(to)
        })
        .map(({ specifier }) => `${show(source)} imports ${specifier}`),
    )
    expect(wrong).toEqual([])
  })

  it('the browser page imports only browser packages and the types of the page', () => {
    const wrong = sources
      .filter(({ room }) => room === 'web')
      .flatMap((source) =>
        source.imports
          .filter(({ specifier, isType }) => {
            if (!specifier.startsWith('.')) return !['preact', 'uplot'].includes(packageOf(specifier))
            const target = targetOf(source, specifier)
            const file = path.relative(root, target)
            return roomOf(target) !== 'web' && !(isType && PAGE_TYPES.includes(file)) && file !== PAGE_TOOLS
          })
          .map(({ specifier }) => `${show(source)} imports ${specifier}`),
      )
    expect(wrong).toEqual([])
  })

  it('every folder of a room has its place in the order of the folders', () => {
    const inside = sources.filter(isInside)
    const found = [...new Set(inside.map(({ room }) => room))].map((room): [string, string[]] => [
      room,
      [...new Set(inside.filter((source) => source.room === room).map(folderOf))].sort(),
    ])
    const withFolders = found.filter(([, folders]) => folders.some((folder) => folder !== '.'))
    const wanted = Object.entries(ORDER).map(([room, groups]) => [room, groups.flatMap(foldersIn).sort()] as const)
    expect(Object.fromEntries(withFolders)).toEqual(Object.fromEntries(wanted))
  })

  it('folders of a room import only folders of lower groups, except those that they must not know', () => {
    const levelOf = (room: string, folder: string) =>
      (ORDER[room] ?? []).findIndex((group) => foldersIn(group).includes(folder))
    const wrong = sources.filter(isInside).flatMap((source) => {
      const own = folderOf(source)
      const isBanned = (folder: string) =>
        folder !== own &&
        (levelOf(source.room, folder) >= levelOf(source.room, own) ||
          INNER[`${source.room}/${own}`]?.includes(folder) === true)
      return source.imports
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => ({ specifier, file: targetOf(source, specifier) }))
        .filter(({ file }) => source.room in ORDER && roomOf(file) === source.room && isBanned(folderOf({ file })))
        .map(({ specifier }) => `${show(source)} imports ${specifier}`)
    })
    expect(wrong).toEqual([])
    const known = Object.entries(ORDER).flatMap(([room, groups]) =>
      groups.flatMap(foldersIn).map((at) => `${room}/${at}`),
    )
    expect(Object.keys(INNER).filter((inner) => !known.includes(inner))).toEqual([])
  })

  it('every folder of the first two levels of src has a short README', () => {
    const rooms = new Set(sources.map(({ file }) => path.dirname(file)).filter((room) => isRoom(room)))
    const silent = [...rooms].filter((room) => !existsSync(path.join(room, 'README.md')))
    expect(silent.map((room) => path.relative(root, room))).toEqual([])
    const long = [...rooms].filter((room) => readFileSync(path.join(room, 'README.md'), 'utf8').split('\n').length > 11)
    expect(long.map((room) => path.relative(root, room))).toEqual([])
  })

  it('the pages for users name the actor, in American English', () => {
    const wrong = USER_PAGES.flatMap(({ name, text }) =>
      (proseOf(text).match(UNCLEAR) ?? []).map((word) => `${name}: ${word}`),
    )
    expect(wrong).toEqual([])
  })

  it('sentences of the pages for users have at most 30 words, and paragraphs at most six lines', () => {
    const long = USER_PAGES.flatMap(({ name, text }) =>
      text
        .replaceAll(/^```[\s\S]*?^```|<!--[\s\S]*?-->/gm, '')
        .split(/\n\s*\n/)
        .filter((paragraph) => !/^\s*[|#]/.test(paragraph))
        .filter((paragraph) => isLongParagraph(paragraph) || sentencesOf(paragraph).some(isLongSentence))
        .map((paragraph) => `${name}: ${paragraph.slice(0, 80)}`),
    )
    expect(long).toEqual([])
  })

  it('the pages of src name only files that exist', () => {
    const pages = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.md'),
    )
    const lost = pages.flatMap((page) => {
      const around = path.dirname(path.join(root, 'src', page))
      return filesNamedIn(readFileSync(path.join(root, 'src', page), 'utf8'))
        .filter((file) => !sources.some((source) => source.file.endsWith(path.sep + path.normalize(file))))
        .filter((file) => !existsSync(path.join(around, file)) && !existsSync(path.join(root, file)))
        .map((file) => `${page} names ${file}`)
    })
    expect(lost).toEqual([])
  })

  it('the program loads gRPC only on first use', () => {
    const loaded = new Set<string>()
    const load = (file: string): readonly string[] => {
      const source = sources.find((one) => one.file === file)
      if (!source || loaded.has(file)) return []
      loaded.add(file)
      return source.imports
        .filter(({ isType, isLate }) => !isType && !isLate)
        .flatMap(({ specifier }) =>
          specifier.startsWith('@grpc/') ? [show(source)] : load(targetOf(source, specifier)),
        )
    }
    expect(load(path.join(root, 'src/main.ts')).concat(load(path.join(root, 'src/server/server.ts')))).toEqual([])
    expect(loaded.size).toBeGreaterThan(300)
  })

  it('imports form no cycle, including those of types and late imports', () => {
    const edges = new Map(
      sources.map((source) => [
        source.file,
        source.imports
          .filter(({ specifier }) => specifier.startsWith('.'))
          .map(({ specifier }) => targetOf(source, specifier)),
      ]),
    )
    expect(findCycle(edges)?.map((file) => path.relative(root, file)) ?? []).toEqual([])
  })

  it('folders of a module form no cycle', () => {
    const edges = new Map<string, string[]>()
    for (const source of sources) {
      const own = path.dirname(source.file)
      const others = source.imports
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => path.dirname(targetOf(source, specifier)))
      edges.set(own, [...(edges.get(own) ?? []), ...others.filter((folder) => folder !== own)])
    }
    expect(findCycle(edges)?.map((folder) => path.relative(root, folder)) ?? []).toEqual([])
  })

  it('every source file is within its maximum number of lines', () => {
    const lines = new Map(sources.map((source) => [show(source), countLines(source)]))
    expect(overBound(lines, LINES_MAX, LONG_FILES)).toEqual([])
  })

  it('comments are at most 120 characters wide, except the code of examples', () => {
    const widest = ({ text }: Source) =>
      text
        .replaceAll(/@example[\s\S]*?\*\//g, '')
        .split('\n')
        .filter((line) => line.length > 120 && /^\s*(?:\*|\/\*\*|\/\/)/.test(line))
    const wide = sources.flatMap((source) => widest(source).map((line) => `${show(source)}: ${line.trim()}`))
    expect(wide).toEqual([])
  })

  it('a short file has several importers, unless its only importer is in another room, imports late or is full', () => {
    const importers = [...sources, ...readSources('scripts')].flatMap((source) =>
      source.imports.map(({ specifier, isLate }) => ({ source, isLate, file: targetOf(source, specifier) })),
    )
    const foldable = sources
      .filter((source) => !ENTRIES.includes(show(source)) && !source.file.endsWith('.d.ts'))
      .filter((source) => {
        const [only, ...others] = importers.filter(({ file }) => file === source.file)
        if (!only || only.isLate || others.length > 0 || only.source.room !== source.room) return false
        const own = countOwnLines(source)
        return own < SHORT_LINES && countLines(only.source) + own <= LINES_MAX && !ENTRIES.includes(show(only.source))
      })
    expect(foldable.map(show)).toEqual([])
  })

  it('every parameter list has at most four entries, except the listed ones', () => {
    const counts = new Map(sources.map((source) => [show(source), countLongLists(source)]))
    expect(overBound(counts, 0, LONG_LISTS)).toEqual([])
  })

  it('only the folder that owns a package imports it', () => {
    const wrong = sources.flatMap((source) =>
      source.imports
        .filter(({ specifier, isType }) => !specifier.startsWith('.') && !isType)
        .filter(({ specifier }) => {
          const name = specifier.startsWith('node:') ? specifier : packageOf(specifier)
          const owners = OWNERS[name]
          return owners !== undefined && !owners.includes(source.room)
        })
        .map(({ specifier }) => `${show(source)} imports ${specifier}`),
    )
    expect(wrong).toEqual([])
  })

  it('only owners use the clock, random numbers, the console and the environment', () => {
    const wrong = sources.flatMap((source) => {
      const code = codeOf(source.text)
      return AMBIENT.filter(({ what, rooms }) => !rooms.includes(source.room) && what.test(code)).map(
        ({ what }) => `${show(source)}: ${what.exec(code)?.[0]}`,
      )
    })
    expect(wrong).toEqual([])
  })

  it('one table defines all stored keys, and the code uses each of them', () => {
    const others = sources.filter((source) => show(source) !== 'src/storage/keys/key-families.ts')
    // These two are paths of the API as well.
    const starts = Object.values(KEYS).filter((at) => at !== KEYS.authData && at !== KEYS.cubbyholes)
    const elsewhere = others.flatMap((source) => {
      const code = codeOf(source.text)
      return ['core/', ...starts]
        .filter((at) => ["'", '"', '`'].some((quote) => code.includes(quote + at)))
        .map((at) => `${show(source)}: ${at}`)
    })
    expect(elsewhere.filter((found) => !NO_KEYS.includes(found))).toEqual([])
    const code = others.map(({ text }) => codeOf(text)).join('\n')
    const unused = Object.keys(KEYS).filter((name) => !new RegExp(`\\bKEYS\\.${name}\\b`).test(code))
    expect(unused).toEqual([])
  })

  it('every export is imported', () => {
    expect(exportsWithout([...sources, ...readSources('test'), ...readSources('scripts')])).toEqual([])
  })

  it('every export is used by the product', () => {
    expect(exportsWithout([...sources, ...readSources('scripts')], usesItself)).toEqual([])
  })

  it('scripts load the compiled file whose type they name', () => {
    const loads = readSources('scripts').flatMap(({ text }) => [
      ...text.matchAll(/typeof import\('[./]*\/src\/([^']+)'\)>\(\s*'([^']+)'/g),
    ])
    expect(loads.length).toBeGreaterThan(0)
    expect(loads.filter(([, named, loaded]) => named !== loaded).map(([text]) => text)).toEqual([])
  })

  it('every test name states its subject', () => {
    const wrong = readSources('test')
      .filter((source) => !show(source).startsWith(path.join('test', 'package', path.sep)))
      .flatMap((source) => testNamesIn(source).map((name) => ({ source, name })))
      .filter(({ name }) => FRAGMENT.test(name))
      .map(({ source, name }) => `${show(source)}: ${name}`)
    expect(wrong).toEqual([])
  })

  it('modules export by name, keep no state and bypass no type', () => {
    const wrong = sources.flatMap((source) => {
      const code = codeOf(source.text)
      const found = [
        /^export default\b/m,
        /^(?:export )?let\b/m,
        /:\s*any\b(?!\()|<any>|\bas any\b/,
        /@ts-(?:ignore|expect-error|nocheck)/,
      ]
      return found
        .filter((pattern) => pattern.test(code))
        .map((pattern) => `${show(source)}: ${pattern.exec(code)?.[0]}`)
    })
    expect(wrong).toEqual([])
  })
})

/** Returns the exports of the product that none of the importers imports, and that `isUsed` does not excuse. */
function exportsWithout(
  importers: readonly Source[],
  isUsed: (source: Source, name: string) => boolean = () => false,
): string[] {
  const imported = new Set(
    importers.flatMap((source) =>
      source.imports.flatMap(({ specifier, names }) => names.map((name) => `${targetOf(source, specifier)}: ${name}`)),
    ),
  )
  return sources
    .filter((source) => !ENTRIES.includes(show(source)) && !imported.has(`${source.file}: *`))
    .flatMap((source) =>
      source.exports
        .filter((name) => !imported.has(`${source.file}: ${name}`) && !isUsed(source, name))
        .map((name) => `${show(source)}: ${name}`),
    )
}

/** Whether the file that declares the name also uses it. */
function usesItself({ file, text }: Source, name: string): boolean {
  let count = 0
  const visitor = new Visitor({
    Identifier: (identifier) => {
      if (identifier.name === name) count++
    },
  })
  visitor.visit(parseSync(file, text).program)
  return count > 1
}

/** What is over its bound; and what is named as an exception without being over the bound of all. */
function overBound(
  found: ReadonlyMap<string, number>,
  bound: number,
  exceptions: Readonly<Record<string, number>>,
): string[] {
  const over = [...found].filter(([file, count]) => count > (exceptions[file] ?? bound))
  const idle = Object.keys(exceptions).filter((file) => (found.get(file) ?? 0) <= bound)
  return [
    ...over.map(([file, count]) => `${file} has ${count}`),
    ...idle.map((file) => `${file} is no exception any more: take it from the list`),
  ]
}

function countLongLists({ file, text }: Source): number {
  let count = 0
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('params' in node && Array.isArray(node.params) && node.params.length > 4) count++
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseSync(file, text).program)
  return count
}

/** Returns the names in the source of tests as `it('name', ...)`, `it.each(...)('name', ...)` and the like. */
function testNamesIn({ file, text }: Source): string[] {
  const names: string[] = []
  const visitor = new Visitor({
    CallExpression: ({ callee, arguments: [name] }) => {
      if (!TEST_CALL.test(text.slice(callee.start, callee.end))) return
      if (name?.type === 'Literal' && typeof name.value === 'string') names.push(name.value)
      if (name?.type === 'TemplateLiteral') names.push(text.slice(name.start + 1, name.end - 1))
    },
  })
  visitor.visit(parseSync(file, text).program)
  return names
}

/** Auth methods and secret engines never import one another. */
function crossesBackends(source: Source, target: string): boolean {
  if (!['auth', 'secrets'].includes(source.room)) return false
  const backendOf = (file: string) => path.relative(path.join(root, 'src', source.room), file).split(path.sep)[0]
  return backendOf(source.file) !== backendOf(target)
}

function findCycle(edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const visit = (file: string, trail: readonly string[]): string[] | undefined => {
    const at = trail.indexOf(file)
    if (at >= 0) return [...trail.slice(at), file]
    if (done.has(file)) return undefined
    done.add(file)
    for (const next of edges.get(file) ?? []) {
      const cycle = visit(next, [...trail, file])
      if (cycle) return cycle
    }
    return undefined
  }
  for (const file of edges.keys()) {
    const cycle = visit(file, [])
    if (cycle) return cycle
  }
  return undefined
}
