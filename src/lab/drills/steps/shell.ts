import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeTemporaryDirectory } from '../../../base/temporary-directory.js'
import { programFile, signal } from '../../processes/child-process.js'
import type { DrillContext } from '../context/drill-context.js'

interface ShellEnd {
  /** Null if it timed out and was killed. */
  readonly status: number | null
  readonly output: string
}

const OUTPUT_CHARACTERS_MAX = 64 * 1024

/**
 * Replaces the shell with the command, beside a guard process of the same group. When the other end of descriptor 3 closes, also
 * because this process was killed, the guard removes the directory and kills the group.
 */
const GUARDED =
  '{ read -r _ <&3; rm -rf -- "$1"; kill -KILL 0; } >/dev/null 2>&1 & exec 3<&-; exec /bin/sh "$1/.command"'

/**
 * Runs a shell command with the environment of a cluster. `understudy`, and `vault` if PATH has none, run this program. The end
 * of the drill kills the command and all processes it started, however the drill ends.
 */
export const runCommand = async (
  context: DrillContext,
  cluster: string,
  command: string,
  withinMs: number,
): Promise<ShellEnd> => {
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
    // Kills the whole group, since child processes keep the output open. Does not wait for processes that left the group.
    if (child.pid !== undefined) signal(-child.pid, 'SIGKILL')
    for (const stream of child.stdio) stream?.destroy()
    rmSync(shims, { recursive: true, force: true })
  }
  context.atEnd(endAll)
  return watch(child, context, withinMs, endAll)
}

const watch = async (
  child: ChildProcess,
  context: DrillContext,
  withinMs: number,
  endAll: () => void,
): Promise<ShellEnd> => {
  let output = ''
  let isLate = false
  /** The output was cut, so its first line may be the end of a token that cannot be recognized as one. */
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
