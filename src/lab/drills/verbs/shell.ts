import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { makeTemporaryDirectory } from '../../../base/temporary-directory.js'
import { programFile, signal } from '../../processes/child-process.js'
import type { DrillContext } from '../drill-context.js'

interface ShellEnd {
  /** Null when it did not end in time and was killed. */
  readonly status: number | null
  readonly output: string
}

const OUTPUT_CHARACTERS_MAX = 64 * 1024

/**
 * Becomes the command, beside a process of the same group that waits for the other end of descriptor 3 to be closed, which is
 * also so when this process is killed: then it removes the directory and ends the group.
 */
const GUARDED =
  '{ read -r _ <&3; rm -rf -- "$1"; kill -KILL 0; } >/dev/null 2>&1 & exec 3<&-; exec /bin/sh "$1/.command"'

/**
 * Runs a command of a shell with the environment of a cluster. `understudy` and, where no other is found, `vault` are this
 * program. It and all that it started end with the drill, however that ends.
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
  // As a file of its own: an argument would show what a drill has saved, such as a token, to all who list processes.
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
    // The whole group: what the shell started would hold its output open. What left the group is not waited for.
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
  /** Its beginning is lost: of what is left the first line may be the end of a token, which nobody would know as one. */
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
      // Not all streams of the child: the one of its guard stays open.
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
  const shim = (name: string, args: string) =>
    writeFileSync(
      path.join(directory, name),
      `#!/bin/sh\nexec "${process.execPath}" "${programFile()}" ${args} "$@"\n`,
      {
        mode: 0o700,
      },
    )
  shim('understudy', '')
  shim('vault', 'vault')
  return directory
}
