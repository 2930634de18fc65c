import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/base/clock.js'
import { ApiClient } from '../../src/client/api-client.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { initialise, waitForAnswer } from '../../src/lab/requests/replication.js'
import { ClusterProcess } from './cluster-process.js'

const START_MS = 90_000
const NAME = 'A'

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
  const ports = (await randomPorts([NAME])).get(NAME)
  if (!ports) throw new Error('no ports were found')
  const server = new ClusterProcess({ name: NAME, ports, directory, settings })
  await server.start()
  const address = `http://127.0.0.1:${ports.api}`
  const client = new ApiClient({ address })
  const stop = async () => {
    client.close()
    await server.close()
    rmSync(directory, { recursive: true, force: true })
  }
  const log = () => server.lastLogLines
  try {
    await waitForAnswer(systemClock, client, NAME, START_MS)
  } catch (error) {
    const tail = log()
    await stop()
    throw new Error(`the server did not start: ${String(error)}\n${tail}`, { cause: error })
  }
  const { pid, dataDir } = server
  return { pid, dataDir, address, client, log, [Symbol.asyncDispose]: stop }
}

/** The same, initialised with one key share and unsealed; its client has the root token. */
export const startOpenServerProcess = async (settings: ServerSettings = {}): Promise<OpenServerProcess> => {
  const server = await startServerProcess(settings)
  try {
    const { rootToken, unsealKeys } = await initialise(server.client, 1, 1)
    return { ...server, client: server.client.with({ token: rootToken }), rootToken, unsealKeys }
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}
