import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { signal } from '../../runner/child-process.js'
import type { Stage } from '../stage.js'

interface ShellEnd {
  /** Null when it did not end in time and was killed. */
  readonly status: number | null
  readonly output: string
}

const OUTPUT_CHARACTERS_MAX = 64 * 1024

/**
 * Runs a command of a shell with the environment of a cluster. `understudy` and, where no other is found, `vault` are this
 * program. It and all that it started end with the drill.
 */
export const runCommand = async (
  stage: Stage,
  cluster: string,
  command: string,
  withinMs: number,
): Promise<ShellEnd> => {
  const token = await stage.lab.rootToken(cluster).catch(() => undefined)
  const shims = makeShims()
  const { VAULT_TOKEN: _, ...inherited } = process.env
  const { apiAddress, caFile } = stage.lab.cluster(cluster)
  const env = {
    ...inherited,
    VAULT_ADDR: apiAddress,
    ...(caFile === undefined ? {} : { VAULT_CACERT: caFile }),
    ...(token === undefined ? {} : { VAULT_TOKEN: token }),
    PATH: `${process.env.PATH ?? ''}${path.delimiter}${shims}`,
  }
  const child = spawn('/bin/sh', ['-c', command], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = (output + String(chunk)).slice(-OUTPUT_CHARACTERS_MAX)
    })
  let isLate = false
  const kill = () => {
    isLate = true
    // The whole group: what the shell started would hold its output open. What left the group is not waited for.
    if (child.pid !== undefined) signal(-child.pid, 'SIGKILL')
    child.stdout.destroy()
    child.stderr.destroy()
  }
  const timer = stage.lab.clock.setTimer(withinMs, kill)
  stage.signal.addEventListener('abort', kill, { once: true })
  try {
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code))
    })
    stage.signal.throwIfAborted()
    return { status: isLate ? null : (status ?? 128), output }
  } finally {
    timer.cancel()
    stage.signal.removeEventListener('abort', kill)
    rmSync(shims, { recursive: true, force: true })
  }
}

const makeShims = (): string => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-drill-'))
  const program = process.argv[1] ?? ''
  const shim = (name: string, args: string) =>
    writeFileSync(path.join(directory, name), `#!/bin/sh\nexec "${process.execPath}" "${program}" ${args} "$@"\n`, {
      mode: 0o700,
    })
  shim('understudy', '')
  shim('vault', 'vault')
  return directory
}
