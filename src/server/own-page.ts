import type { Rendered } from '../logical/incoming.js'
import { PAGE_HEADERS, readPageFiles } from './page-files.js'

const ROOT = '/ui/'

/** Where people are sent who open the address alone, or one that the reference's page has. */
const redirect: Rendered = {
  ...{ status: 307, contentType: 'text/html; charset=utf-8', body: '' },
  headers: { ...PAGE_HEADERS, Location: ROOT, Vary: 'Accept' },
}

/**
 * The page of a server for itself: the same files as that of a lab. Everybody may have them, as they hold nothing of the server;
 * what it shows is asked of the API. Files are read when somebody asks for the first time; without them there is no page.
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
