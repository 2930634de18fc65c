import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import type { PageEvent, PageSurvey } from '../../src/lab/web/page-facts.js'
import type { PageJob } from '../../src/lab/web/page-job.js'
import { PAGE_HEADERS } from '../../src/server/page-files.js'

/** Texts that run a script or send a request if a page treats them as markup. `note` identifies the position. */
export const hostile = (note: string): readonly string[] => [
  `<img src=/ran-${note} onerror="window.ran='${note}'">`,
  `"><script>window.ran='${note}'</script>`,
  `' onfocus=window.ran='${note}' autofocus x='`,
  `javascript:window.ran='${note}'`,
]

const WEB = path.join(import.meta.dirname, '..', '..', 'dist', 'web')

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

interface Messages {
  readonly survey: PageSurvey
  readonly events: readonly PageEvent[]
  readonly work?: PageJob
}

/** Serves the built page with its own security policy, and sends it data of a test, also data that no lab accepts. */
export const serveHostilePage = async (messages: Messages) => {
  const requestedPaths: string[] = []
  const viewers: http.ServerResponse[] = []
  const send = (changed: Partial<Messages>, to: readonly http.ServerResponse[] = viewers) => {
    for (const [name, value] of Object.entries(changed))
      for (const viewer of to) viewer.write(`event: ${name}\ndata: ${JSON.stringify(value)}\n\n`)
  }
  const server = http.createServer(({ url = '/' }, response) => {
    requestedPaths.push(url)
    for (const [name, value] of Object.entries(PAGE_HEADERS)) response.setHeader(name, value)
    const file = url.slice(1) || 'index.html'
    if (TYPES[file] !== undefined)
      return void response.writeHead(200, { 'Content-Type': TYPES[file] }).end(readFileSync(path.join(WEB, file)))
    if (url !== '/_understudy/v1/events') return void response.writeHead(404).end()
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    viewers.push(response)
    send(messages, [response])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** Paths that the browser requested. */
    requestedPaths,
    /** Sends changed data to the open pages. */
    send,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
