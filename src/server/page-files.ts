import { readFileSync } from 'node:fs'

/** What a browser may do with the page: run its own script, and ask nobody but whom it came from. */
export const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"],
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

interface PageFile {
  readonly contentType: string
  readonly body: Buffer
}

const FILES: Readonly<Record<string, { readonly file: string; readonly contentType: string }>> = {
  '': { file: 'index.html', contentType: 'text/html; charset=utf-8' },
  'page.js': { file: 'page.js', contentType: 'text/javascript; charset=utf-8' },
  'page.css': { file: 'page.css', contentType: 'text/css; charset=utf-8' },
  'icon.svg': { file: 'icon.svg', contentType: 'image/svg+xml' },
}

/**
 * The files of the page, by where they lie below its address; the page itself is the empty name. They are in the package beside
 * the compiled modules: throws the system's error for who runs from the sources and has not built them.
 */
export const readPageFiles = (): ReadonlyMap<string, PageFile> => {
  const read = (file: string) => readFileSync(new URL(`../web/${file}`, import.meta.url))
  return new Map(
    Object.entries(FILES).map(([name, { file, contentType }]) => [name, { contentType, body: read(file) }]),
  )
}
