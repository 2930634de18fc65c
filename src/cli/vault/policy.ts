import { writeFileSync } from 'node:fs'
import { parseHcl } from '../../base/hcl.js'
import { textOfJson, textsOfJson } from '../../base/json-print.js'
import { readNamedText } from '../../base/named-file.js'
import { LIST } from './api.js'
import { type Command, command } from './command.js'
import { locally, remoteError } from './model.js'

/** Returns a policy name in lower case, as the server stores it. */
const nameOf = (text: string): string => text.trim().toLowerCase()

export const policyCommands: readonly Command[] = [
  command(
    'policy write NAME FILE',
    'Upload a policy from a file, or from standard input (-)',
    async ({ api, out, io, args: [rawName = '', file = ''] }) => {
      const name = nameOf(rawName)
      const policy = file === '-' ? (await io.readStdin()).toString('utf8') : readPolicy(file)
      const body = { policy }
      const { secret } = await api.request('Error uploading policy', 'PUT', `sys/policies/acl/${name}`, { body })
      return out.success(`Uploaded policy: ${name}`, secret)
    },
  ),
  command('policy read NAME', 'Print a policy', async ({ api, out, args: [rawName = ''] }) => {
    const name = nameOf(rawName)
    const secret = await api.find(`Error reading policy named ${name}`, 'GET', `sys/policies/acl/${name}`)
    const policy = secret?.data?.policy
    if (policy === undefined) throw remoteError(`No policy named: ${name}`)
    return out.record({ policy }, () => textOfJson(policy).trim())
  }),
  command('policy list', 'List policies', async ({ api, out }) => {
    const { secret } = await api.request('Error listing policies', 'GET', 'sys/policies/acl', LIST)
    const keys = Array.isArray(secret?.data?.keys) ? secret.data.keys : []
    return out.value(keys, () => textsOfJson(keys).join('\n'))
  }),
  command('policy delete NAME', 'Delete a policy', async ({ api, out, args: [rawName = ''] }) => {
    const name = nameOf(rawName)
    await api.request(`Error deleting ${name}`, 'DELETE', `sys/policies/acl/${name}`)
    return out.success(`Deleted policy: ${name}`)
  }),
  command('policy fmt FILE', 'Format a policy file in place', ({ out, args: [file = ''] }) => {
    const text = readPolicy(file)
    const formatted = locally('Failed to parse policy', () => formatHclText(text, file))
    locally('Error writing policy file', () => writeFileSync(file, formatted))
    return out.success(`Formatted policy: ${file}`)
  }),
]

const readPolicy = (file: string): string => locally('Error opening policy file', () => readNamedText(file))

const INDENT = '  '
/** Matches a quoted text, a comment, or one bracket. */
const HCL_TOKEN = /"(?:[^"\\]|\\.)*"|#.*|\/\/.*|[{}[\]]/g

/**
 * Indents HCL. Comments, quoted texts and the order of the lines are preserved. JSON, and HCL that contains heredocs or
 * block comments, is returned unchanged. Throws `HclError` if the text is not HCL.
 */
export const formatHclText = (text: string, file: string): string => {
  parseHcl(text, { file })
  if (/^\uFEFF?\s*[{[]/.test(text) || /<<|\/\*/.test(text)) return text
  let depth = 0
  const lines = text.split('\n').map((raw) => {
    const line = raw.trim()
    const brackets = (line.match(HCL_TOKEN) ?? []).filter((token) => /^[{}[\]]$/.test(token))
    const closedFirst = (/^[}\]]+/.exec(line)?.[0] ?? '').length
    const indent = Math.max(0, depth - closedFirst)
    for (const bracket of brackets) depth += '{['.includes(bracket) ? 1 : -1
    return line === '' ? '' : INDENT.repeat(indent) + spaceAssignment(line)
  })
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}

/** Puts one space on each side of the equal sign after the key of a line. */
const spaceAssignment = (line: string): string => line.replace(/^("(?:[^"\\]|\\.)*"|[\w.-]+)\s*=\s*/, '$1 = ')
