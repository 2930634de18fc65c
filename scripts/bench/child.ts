import { type ChildProcess, fork } from 'node:child_process'
import path from 'node:path'

/** A script of this directory in a process of its own. It ends when its parent does. */
export const forkScript = (script: string, args: readonly string[] = []): ChildProcess =>
  fork(path.join(import.meta.dirname, script), [...args], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

/** Sends one message and waits for the next one back. */
export const askChild = <T>(child: ChildProcess, message: unknown): Promise<T> =>
  new Promise((resolve, reject) => {
    const onExit = () => reject(new Error('a process of the bench ended early'))
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
