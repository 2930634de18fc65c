import { readFileSync } from 'node:fs'

/** Response headers that restrict the page to its own scripts, and to requests to its own origin. */
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
 * Returns the files of the page by their paths below the address of the page. The page itself has the empty path. The
 * package contains the files next to the compiled modules. Throws the system's error if the sources were not built.
 */
export const readPageFiles = (): ReadonlyMap<string, PageFile> => {
  const read = (file: string) => readFileSync(new URL(`../web/${file}`, import.meta.url))
  return new Map(
    Object.entries(FILES).map(([name, { file, contentType }]) => [name, { contentType, body: read(file) }]),
  )
}
