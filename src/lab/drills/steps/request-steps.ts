import { shellWord } from '../../../base/shell.js'
import { LabError } from '../../model/lab-error.js'
import { conceal } from '../../texts/conceal.js'
import { formatMs } from '../../texts/format.js'
import { makeCall } from '../context/answers.js'
import { DrillFailure } from '../context/drill-context.js'
import { ANSWER, CALL, CLUSTER, DURATION, durationOf, mapOf, WANTED } from '../context/forms.js'
import { runCommand } from './shell.js'
import { step } from './step.js'

/** Steps that send requests, and shell commands. */
export const REQUEST_STEPS = {
  call: step({
    schema: CALL,
    text: ({ method = 'GET', path, cluster }) => `${method} ${path} on ${cluster}`,
    run: makeCall,
  }),
  write: step({
    schema: mapOf('Writes fields to a path with a root token, once or several times.', ['cluster', 'path', 'fields'], {
      cluster: CLUSTER,
      path: {
        type: 'string',
        description: 'Path of the API. For several writes, "-1", "-2" and so on are appended.',
      },
      fields: { type: 'object' },
      times: { type: 'integer', minimum: 1, default: 1 },
    }),
    text: ({ path, cluster, times }) => `write ${path} on ${cluster}${times ? ` ${times} times` : ''}`,
    async run(context, { cluster, path, fields, times = 1 }) {
      if (times === 1) return context.ok({ cluster, method: 'PUT', path, body: fields })
      const address = shellWord(`-address=${context.lab.cluster(cluster).apiAddress}`)
      context.line(`for n in $(seq ${times}); do vault write ${address} ${shellWord(path)}-$n ...; done`)
      const client = context.lab.withToken(cluster, await context.lab.rootToken(cluster))
      try {
        for (let n = 1; n <= times; n++) {
          context.signal.throwIfAborted()
          await client.write(`${path}-${n}`, fields)
        }
      } finally {
        client.close()
      }
    },
  }),
  read: step({
    schema: mapOf('Reads a path with a root token, or with another token.', ['cluster', 'path'], {
      cluster: CLUSTER,
      path: { type: 'string' },
      token: { type: 'string', default: 'root', description: 'See call.' },
      is: { ...WANTED, description: 'Expected value of "data"; see "Compare values".' },
      absent: { type: 'boolean', default: false, description: 'Expects the status 404.' },
      expect: ANSWER,
      within: { ...DURATION, description: 'Maximum time to repeat the read until the value is as expected.' },
    }),
    text: ({ path, cluster }) => `read ${path} on ${cluster}`,
    run(context, { is, absent, expect, ...call }) {
      const wanted = { ...(absent ? { status: 404 } : {}), ...(is === undefined ? {} : { data: is }), ...expect }
      return makeCall(context, { ...call, expect: wanted })
    },
  }),
  run: step({
    schema: mapOf(
      'A shell command with VAULT_ADDR and VAULT_TOKEN of a cluster; "vault" is this program where no other is found.',
      ['cluster', 'command'],
      {
        cluster: CLUSTER,
        command: { type: 'string' },
        status: { type: 'integer', minimum: 0, maximum: 255, default: 0, description: 'Expected exit status.' },
        prints: { type: 'string', description: 'Text that the output must contain.' },
        within: { ...DURATION, default: '60s' },
      },
    ),
    text: ({ command }) => command,
    async run(context, { cluster, command, status = 0, prints, within = '60s' }) {
      context.line(`VAULT_ADDR=${context.lab.cluster(cluster).apiAddress} sh -c '${command.replaceAll("'", `'\\''`)}'`)
      const ended = await runCommand(context, cluster, command, durationOf(within))
      context.output(conceal(ended.output))
      const last = ended.output.trim().split('\n').slice(-5).join('\n')
      if (ended.status === null)
        throw new LabError('timeout', `the command did not end within ${formatMs(durationOf(within))}\n${last}`)
      if (ended.status !== status)
        throw new DrillFailure(`the command ended with ${ended.status}, not ${status}\n${last}`)
      if (prints !== undefined && !ended.output.includes(prints))
        throw new DrillFailure(`the command did not print "${prints}"\n${last}`)
    },
  }),
}
