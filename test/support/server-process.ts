import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ApiClient } from '../../src/client/api-client.js'
import { initialize } from '../../src/lab/requests/replication.js'
import { createProcess } from './clusters.js'
import { freePorts } from './local-config.js'

/** The compiled program in its own process, with LevelDB in a temporary directory. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number
  readonly dataDir: string
  readonly address: string
  readonly client: ApiClient
  /** Returns the end of the log, for error messages. */
  readonly log: () => string
}

export interface OpenServerProcess extends ServerProcess {
  readonly rootToken: string
  readonly unsealKeys: readonly string[]
}

export type ServerSettings = Readonly<Record<string, string | number | boolean>>

/**
 * Starts an uninitialized server, and waits until it responds. `settings`: settings of the stanza `understudy`, in
 * addition to those of a lab.
 */
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

/** Starts a server, and initializes it with one key share. Its client has the root token. */
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
