import type { Rendered } from '../logical/incoming.js'
import { PAGE_HEADERS, readPageFiles } from './page-files.js'

const ROOT = '/ui/'

/** Redirects the bare address, and the addresses of Vault's UI, to the page. */
const redirect: Rendered = {
  ...{ status: 307, contentType: 'text/html; charset=utf-8', body: '' },
  headers: { ...PAGE_HEADERS, Location: ROOT, Vary: 'Accept' },
}

/**
 * Serves the server's own page, from the same files as a lab's page. The files are public, since they contain no data of the
 * server; the page gets its data through the API. They are read on first use. Without them there is no page.
 */
export const serveOwnPage = (): ((path: string, accept: string) => Rendered | undefined) => {
  let files: ReturnType<typeof readPageFiles> | undefined
  const findFiles = () => {
    try {
      files ??= readPageFiles()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      files = new Map()
    }
    return files
  }
  return (path, accept) => {
    if (path !== '/' && path !== '/ui' && !path.startsWith(ROOT)) return undefined
    const all = findFiles()
    const file = path.startsWith(ROOT) ? all.get(path.slice(ROOT.length)) : undefined
    if (file) return { status: 200, ...file, headers: PAGE_HEADERS }
    return all.size > 0 && /\btext\/html\b/.test(accept) ? redirect : undefined
  }
}
