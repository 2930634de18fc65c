import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitepress'

/**
 * The site has the same Markdown as the repository: `README.md`, the other pages beside it, and `docs/`. They are copied to
 * a folder below the packages of the site, with the few changes that the site needs.
 */
const DOCS = path.join(import.meta.dirname, '..')
const ROOT = path.join(DOCS, '..')
const PAGES = path.join(import.meta.dirname, 'pages')

const read = (file) => readFileSync(path.join(ROOT, file), 'utf8')

/** Links to a README lead to the page of its folder. Links to the code become text. */
const changeLinks = (text) =>
  text
    .replaceAll(/\]\(((?:[\w./-]*\/)?)README\.md(#[^)]*)?\)/g, '](./$1index.md$2)')
    .replaceAll(/\[([^\]]*)\]\((?:\.\.?\/)*(?:(?:src|test|scripts|proto|docs\/monitoring)\/[^)]*|LICENSE)\)/g, '$1')

/** Braces in inline code are text, not expressions of Vue. */
const escapeBraces = (text) =>
  text.replaceAll(/^```[\s\S]*?^```|`([^`\n]*\{\{[^`\n]*)`/gm, (whole, code) =>
    code === undefined ? whole : `<code>${code.replaceAll('<', '&lt;').replaceAll('{', '&#123;')}</code>`,
  )

const copyPages = () => {
  rmSync(PAGES, { recursive: true, force: true })
  mkdirSync(PAGES)
  const own = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(md|svg)$/.test(name) && !/node_modules|\.vitepress/.test(name))
    .map((name) => `docs/${name}`)
  for (const file of ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...own]) {
    const to = path.join(PAGES, file.replace(/README\.md$/, 'index.md'))
    mkdirSync(path.dirname(to), { recursive: true })
    if (file.endsWith('.md')) writeFileSync(to, escapeBraces(changeLinks(read(file))))
    else cpSync(path.join(ROOT, file), to)
  }
}

const titleOf = (file) => /^# (.*)$/m.exec(read(file))?.[1].replaceAll('`', '') ?? file

/** The pages of a folder, in the order of `docs/README.md`. */
const pagesOf = (folder) => {
  const index = read('docs/README.md')
  const place = (name) => index.indexOf(`(${folder}/${name})`)
  return readdirSync(path.join(DOCS, folder))
    .filter((name) => name.endsWith('.md'))
    .toSorted((one, other) => place(one) - place(other))
    .map((name) => ({ text: titleOf(`docs/${folder}/${name}`), link: `/docs/${folder}/${name.slice(0, -3)}` }))
}

copyPages()

export default defineConfig({
  title: 'Understudy',
  description: 'Rehearse replication and failover on simulated clusters that serve the Vault HTTP API.',
  srcDir: '.vitepress/pages',
  outDir: path.join(ROOT, 'out/docs'),
  cacheDir: path.join(ROOT, 'out/docs-cache'),
  cleanUrls: true,
  themeConfig: {
    outline: [2, 3],
    search: { provider: 'local' },
    nav: [{ text: 'All pages', link: '/docs/' }],
    sidebar: [
      { text: 'Get started', items: pagesOf('get-started') },
      { text: 'How-to guides', items: pagesOf('how-to') },
      { text: 'Reference', items: pagesOf('reference') },
      { text: 'Explanation', items: [...pagesOf('explanation'), { text: 'Security', link: '/SECURITY' }] },
      {
        text: 'Change Understudy',
        items: [
          { text: 'Working on Understudy', link: '/docs/working-on-it' },
          { text: 'Contributing', link: '/CONTRIBUTING' },
          { text: 'Changelog', link: '/CHANGELOG' },
        ],
      },
    ],
  },
})
