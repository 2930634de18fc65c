/** The page at the address of a server. It reveals no more than sys/health. */
import type { Rendered } from '../../logical/incoming.js'

/** The paths of the page. Tutorials for Vault refer to `/ui/`. */
const PATHS: ReadonlySet<string> = new Set(['/', '/ui', '/ui/'])

const NAME = 'Understudy'
const WHAT =
  'An independent simulator of the Vault HTTP API, with replication between clusters. For rehearsals and tests: do not store real secrets in it.'
const HELP = 'For usage and supported paths, see the README of the package understudy-lab.'

const LINKS = [
  ['/v1/sys/health', 'the health and the replication role of this server'],
  ['/v1/sys/seal-status', 'the seal status, the version and the name of the cluster'],
  ['/v1/sys/replication/status', 'the status of DR and performance replication'],
] as const

const HTML = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${NAME}</title>
</head>
<body>
<main>
<h1>${NAME}</h1>
<p>${WHAT}</p>
<ul>
${LINKS.map(([path, text]) => `<li><a href="${path}"><code>${path}</code></a> ${text}</li>`).join('\n')}
</ul>
<p>${HELP}</p>
</main>
</body>
</html>
`

const TEXT = `${NAME}\n${WHAT}\n\n${LINKS.map(([path, text]) => `${path}  ${text}\n`).join('')}\n${HELP}\n`

const JSON_TEXT = `${JSON.stringify({ name: NAME, description: WHAT, links: LINKS.map(([path]) => path), help: HELP })}\n`

/** The page loads no resources, runs no scripts, submits no forms and cannot be framed. */
const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  Vary: 'Accept',
} as const

const FORMS = [
  { accepted: /\btext\/html\b/, contentType: 'text/html; charset=utf-8', body: HTML },
  { accepted: /\bapplication\/json\b/, contentType: 'application/json', body: JSON_TEXT },
  { accepted: /(?:)/, contentType: 'text/plain; charset=utf-8', body: TEXT },
] as const

/**
 * Returns the response to a GET of `/`, `/ui` or `/ui/`: HTML, JSON or text, as the header `Accept` requests. Returns
 * undefined for other paths.
 */
export const welcome = (path: string, accept = ''): Rendered | undefined => {
  if (!PATHS.has(path)) return undefined
  const form = FORMS.find(({ accepted }) => accepted.test(accept))
  return form && { status: 200, contentType: form.contentType, body: form.body, headers: HEADERS }
}
