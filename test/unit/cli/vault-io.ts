import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createSeededRandom } from '../../../src/base/random.js'
import type { VaultIo } from '../../../src/cli/vault/model.js'
import { runVault } from '../../../src/cli/vault/program/run.js'

export interface CliResult {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  /** Answers to prompts, in order. */
  readonly answers?: readonly string[]
  readonly isStdoutTty?: boolean
}

/** A shell: an environment, a home directory, and the pauses before retries, in milliseconds. */
export interface Shell extends Disposable {
  readonly env: Record<string, string>
  readonly home: string
  readonly waits: number[]
  run(args: readonly string[], options?: CliOptions): Promise<CliResult>
  /** Runs a command that must succeed. Returns standard output. */
  ok(args: readonly string[], options?: CliOptions): Promise<string>
  /** Runs a command with `-format=json`. Returns the parsed output. */
  json(args: readonly string[], options?: CliOptions): Promise<unknown>
}

export const openShell = (env: Record<string, string> = {}): Shell => {
  const home = mkdtempSync(path.join(tmpdir(), 'understudy-cli-'))
  const waits: number[] = []
  const shell: Shell = {
    env,
    home,
    waits,
    run: async (args, options = {}) => {
      const stdout: Buffer[] = []
      const stderr: string[] = []
      const answers = [...(options.answers ?? [])]
      const io: VaultIo = {
        env: { ...env, ...options.env },
        homeDirectory: home,
        isStdoutTty: options.isStdoutTty ?? false,
        clock: {
          sleep: async (ms) => {
            waits.push(ms)
          },
        },
        random: createSeededRandom('cli'),
        write: (data) => void stdout.push(Buffer.from(data)),
        complain: (text) => void stderr.push(`${text}\n`),
        readStdin: async () => Buffer.from(options.stdin ?? ''),
        ask: async () => answers.shift() ?? '',
        serve: async () => 0,
      }
      const status = await runVault(args, io)
      return { status, stdout: Buffer.concat(stdout).toString('utf8'), stderr: stderr.join('') }
    },
    ok: async (args, options) => {
      const { status, stdout, stderr } = await shell.run(args, options)
      if (status !== 0) throw new Error(`vault ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
      return stdout
    },
    json: async (args, options) =>
      JSON.parse(await shell.ok(args, { ...options, env: { ...options?.env, VAULT_FORMAT: 'json' } })),
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  }
  return shell
}
