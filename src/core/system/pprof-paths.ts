/** sys/pprof: facts about the process. The server runs on Node.js, so it has no profiles of Go. */
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { int } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'

const SERVED = ['cmdline', 'goroutine']
const REFUSED = ['allocs', 'block', 'heap', 'mutex', 'profile', 'symbol', 'threadcreate', 'trace']

export const pprofPaths: readonly PathSpec[] = [
  definePath('pprof/?', {}, 'List the profiles.', {
    read: () => ({
      raw: {
        contentType: 'text/html; charset=utf-8',
        body: `<!DOCTYPE html>\n<title>sys/pprof</title>\n<ul>\n${SERVED.map((name) => `<li><a href="${name}">${name}</a>\n`).join('')}</ul>\n`,
      },
    }),
  }),
  definePath('pprof/cmdline', {}, 'Read the command line of the process.', {
    read: () => plain(process.argv.join('\0')),
  }),
  definePath('pprof/goroutine', { debug: int('Has no effect.') }, 'Count what keeps the process busy.', {
    read: () => plain(activeResources()),
  }),
  ...REFUSED.map((name) =>
    definePath(`pprof/${name}`, { seconds: int('Has no effect.') }, 'Rejected: Node.js has no such profile.', {
      read: () => {
        throw invalid(`the profile ${name} is not supported: the server runs on Node.js, which has no profiles of Go`)
      },
    }),
  ),
]

const plain = (body: string): Response => ({ raw: { contentType: 'text/plain; charset=utf-8', body } })

/** Returns the active resources of Node.js, such as sockets and timers, with their numbers. */
const activeResources = (): string => {
  const numbers = new Map<string, number>()
  for (const name of process.getActiveResourcesInfo()) numbers.set(name, (numbers.get(name) ?? 0) + 1)
  const lines = [...numbers].sort().map(([name, number]) => `${number} ${name}\n`)
  return `Node.js has no goroutines. These are its active resources, with their numbers.\n\n${lines.join('')}`
}
