import { type ChildProcess, fork, spawn } from 'node:child_process'
import path from 'node:path'
import { performance } from 'node:perf_hooks'

/** A script of this directory in its own process. It exits when its parent exits. */
export const forkScript = (script: string, args: readonly string[] = []): ChildProcess =>
  fork(path.join(import.meta.dirname, script), [...args], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

/** Sends one message and resolves to the next reply. */
export const askChild = <T>(child: ChildProcess, message: unknown): Promise<T> =>
  new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('a process of the bench exited early'))
    child.once('exit', onExit)
    child.once('message', (answer) => {
      child.off('exit', onExit)
      resolve(answer as T)
    })
    child.send(message as object)
  })

export const endChild = (child: ChildProcess): void => {
  if (child.connected) child.disconnect()
}

/** Runs node with these arguments. Resolves to its output, or rejects with its errors. */
export const runNode = (args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const texts = { out: '', errors: '' }
    child.stdout.on('data', (chunk: Buffer) => (texts.out += chunk.toString('utf8')))
    child.stderr.on('data', (chunk: Buffer) => (texts.errors += chunk.toString('utf8')))
    child.once('error', reject)
    child.once('close', (status) => (status === 0 ? resolve(texts.out) : reject(new Error(texts.errors))))
  })

/** Returns the time of an empty Node program in milliseconds: the yardstick of the times of commands. */
export const nodeAloneMs = async (): Promise<number> => {
  const startMs = performance.now()
  await runNode(['-e', ''])
  return performance.now() - startMs
}
