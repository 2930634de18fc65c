import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { shellWord } from '../../../base/shell.js'
import { makeTemporaryDirectory } from '../../../base/temporary-directory.js'
import { LabError } from '../../model/lab-error.js'
import { flagsOf } from '../../operations/lines.js'
import { conceal } from '../../texts/conceal.js'
import { formatMs } from '../../texts/format.js'
import { programFile, signal } from '../../processes/child-process.js'
import { makeCall } from '../context/answers.js'
import { type DrillContext, DrillFailure } from '../context/drill-context.js'
import { ANSWER, CALL, CLUSTER, DURATION, durationOf, mapOf, step, WANTED } from '../context/forms.js'

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
      const at = flagsOf(context.lab.cluster(cluster))
      context.line(`for n in $(seq ${times}); do vault write ${at} ${shellWord(path)}-$n ...; done`)
      await context.asRoot(cluster, async (client) => {
        for (let n = 1; n <= times; n++) {
          context.signal.throwIfAborted()
          await client.write(`${path}-${n}`, fields)
        }
      })
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
      'Runs a shell command with VAULT_ADDR and VAULT_TOKEN of a cluster. If PATH has no "vault", this program replaces it.',
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
        throw new LabError('timeout', `the command did not finish within ${formatMs(durationOf(within))}\n${last}`)
      if (ended.status !== status)
        throw new DrillFailure(`the command exited with status ${ended.status}, not ${status}\n${last}`)
      if (prints !== undefined && !ended.output.includes(prints))
        throw new DrillFailure(`the command did not print "${prints}"\n${last}`)
    },
  }),
}

const OUTPUT_CHARACTERS_MAX = 64 * 1024

/**
 * Starts a guard process in the same process group, then replaces the shell with the command. When this process closes
 * descriptor 3, even because it was killed, the guard removes the directory and kills the group.
 */
const GUARDED =
  '{ read -r _ <&3; rm -rf -- "$1"; kill -KILL 0; } >/dev/null 2>&1 & exec 3<&-; exec /bin/sh "$1/.command"'

/**
 * Runs a shell command with the environment of a cluster. The name `understudy` runs this program, and so does `vault`
 * if PATH has no `vault`. The command and its child processes end with the drill. `status`: null after a timeout.
 */
const runCommand = async (
  context: DrillContext,
  cluster: string,
  command: string,
  withinMs: number,
): Promise<{ readonly status: number | null; readonly output: string }> => {
  const token = await context.lab.rootToken(cluster).catch(() => undefined)
  const shims = makeShims()
  const { VAULT_TOKEN: _, ...inherited } = process.env
  const { apiAddress, caFile } = context.lab.cluster(cluster)
  const env = {
    ...inherited,
    VAULT_ADDR: apiAddress,
    ...(caFile === undefined ? {} : { VAULT_CACERT: caFile }),
    ...(token === undefined ? {} : { VAULT_TOKEN: token }),
    PATH: `${process.env.PATH ?? ''}${path.delimiter}${shims}`,
  }
  // Written to a file: process lists show arguments, and the command may contain saved values such as tokens.
  writeFileSync(path.join(shims, '.command'), command, { mode: 0o600 })
  const child = spawn('/bin/sh', ['-c', GUARDED, 'sh', shims], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  let isOver = false
  const endAll = () => {
    if (isOver) return
    isOver = true
    // Kills the whole group, since child processes keep the output open. Does not wait for processes that left the
    // group.
    if (child.pid !== undefined) signal(-child.pid, 'SIGKILL')
    for (const stream of child.stdio) stream?.destroy()
    rmSync(shims, { recursive: true, force: true })
  }
  context.atEnd(endAll)
  let output = ''
  let isLate = false
  /** Whether the start of the output was dropped. The first line may then contain a part of a token, and is omitted. */
  let isCut = false
  const outputs = [child.stdout, child.stderr].flatMap((stream) => stream ?? [])
  for (const stream of outputs)
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk)
      isCut ||= output.length > OUTPUT_CHARACTERS_MAX
      output = output.slice(-OUTPUT_CHARACTERS_MAX)
    })
  const kill = () => {
    isLate = true
    endAll()
  }
  const timer = context.lab.clock.setTimer(withinMs, kill)
  context.signal.addEventListener('abort', kill, { once: true })
  try {
    const [status] = await Promise.all([
      new Promise<number | null>((resolve, reject) => {
        child.once('error', reject)
        child.once('exit', resolve)
      }),
      // Does not wait for all streams of the child: the stream of the guard stays open.
      ...outputs.map((stream) => new Promise((resolve) => stream.once('close', resolve))),
    ])
    context.signal.throwIfAborted()
    return { status: isLate ? null : (status ?? 128), output: isCut ? output.slice(output.indexOf('\n') + 1) : output }
  } finally {
    timer.cancel()
    context.signal.removeEventListener('abort', kill)
  }
}

const makeShims = (): string => {
  const directory = makeTemporaryDirectory('drill')
  const shim = (name: string, args: string) => {
    const text = `#!/bin/sh\nexec "${process.execPath}" "${programFile()}" ${args} "$@"\n`
    writeFileSync(path.join(directory, name), text, { mode: 0o700 })
  }
  shim('understudy', '')
  shim('vault', 'vault')
  return directory
}
