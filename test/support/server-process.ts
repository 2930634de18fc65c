import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ApiClient } from '../../src/client/api-client.js'
import { initialize } from '../../src/lab/requests/replication.js'
import { createProcess } from './clusters.js'
import { freePorts } from './local-config.js'

/** A server as users run it: the compiled program in a process of its own, with LevelDB in a directory of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number
  readonly dataDir: string
  readonly address: string
  readonly client: ApiClient
  /** The end of its log, to be shown when something failed. */
  readonly log: () => string
}

export interface OpenServerProcess extends ServerProcess {
  readonly rootToken: string
  readonly unsealKeys: readonly string[]
}

export type ServerSettings = Readonly<Record<string, string | number | boolean>>

/** Starts an uninitialised server and waits until it answers. `settings`: of the stanza `understudy`, on top of a lab's. */
export const startServerProcess = async (settings: ServerSettings = {}): Promise<ServerProcess> => {
  const directory = mkdtempSync(path.join(tmpdir(), 'understudy-test-'))
  const server = createProcess({ name: 'A', ports: await freePorts(), directory }, { name: 'A', settings })
  const { address, anonymous: client, dataDir } = server
  const stop = async () => {
    client.close()
    await server.stop()
    await server.destroy()
  }
  try {
    await server.start()
  } catch (error) {
    await stop()
    throw error
  }
  const log = () => server.lastLogLines
  return { pid: server.pid ?? 0, dataDir, address, client, log, [Symbol.asyncDispose]: stop }
}

/** The same, initialized with one key share and unsealed; its client has the root token. */
export const startOpenServerProcess = async (settings: ServerSettings = {}): Promise<OpenServerProcess> => {
  const server = await startServerProcess(settings)
  try {
    const { rootToken, unsealKeys } = await initialize(server.client, 1, 1)
    return { ...server, client: server.client.with({ token: rootToken }), rootToken, unsealKeys }
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}
