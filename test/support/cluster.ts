import { systemClock } from '../../src/base/clock.js'
import type { ApiClient } from '../../src/client/api-client.js'
import { type ClusterAccess, clientOf } from '../../src/lab/model/cluster.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import type { Link } from '../../src/lab/proxy/link.js'
import { statusOf, unseal, waitForAnswer } from '../../src/lab/requests/replication.js'
import { waitFor } from '../../src/lab/requests/wait.js'
import { ClusterProcess } from './cluster-process.js'
import type { ClusterServer } from './cluster-server.js'

/** Bound on each wait for a fact of a cluster. */
export const WAIT_MS = 120_000

/** A cluster under test: a server, the keys that open it, and the link in front of its cluster port. */
export class Cluster implements ClusterAccess {
  readonly name: string
  readonly apiAddress: string
  readonly server: ClusterServer
  readonly #link: Link | undefined
  #client: { readonly token: string; readonly api: ApiClient } | undefined
  #anonymous: ApiClient | undefined
  /** What opens it: its own keys, or after joining those of its primary. */
  seal: { readonly rootToken: string; readonly unsealKeys: readonly string[]; readonly threshold: number } = {
    rootToken: '',
    unsealKeys: [],
    threshold: 0,
  }

  constructor(name: string, apiPort: number, server: ClusterServer, link: Link | undefined) {
    this.name = name
    this.apiAddress = `http://127.0.0.1:${apiPort}`
    this.server = server
    this.#link = link
  }

  get rootToken(): string {
    return this.seal.rootToken
  }

  get unsealKeys(): readonly string[] {
    return this.seal.unsealKeys
  }

  get threshold(): number {
    return this.seal.threshold
  }

  /** Its server as a process: for tests that never run without one. */
  get process(): ClusterProcess {
    if (!(this.server instanceof ClusterProcess)) throw new Error(`cluster ${this.name} has no process of its own`)
    return this.server
  }

  /** What others dial to reach its cluster port. */
  get link(): Link {
    if (!this.#link) throw new Error(`cluster ${this.name} was added without a link`)
    return this.#link
  }

  /** A client with its root token, or with none on a DR secondary. */
  get client(): ApiClient {
    if (this.#client?.token !== this.rootToken) this.#client = { token: this.rootToken, api: clientOf(this) }
    return this.#client.api
  }

  /** A client without a token. */
  get anonymous(): ApiClient {
    this.#anonymous ??= clientOf({ apiAddress: this.apiAddress, rootToken: '' })
    return this.#anonymous
  }

  /** Starts a server that has data, and unseals it. */
  async reopen(): Promise<void> {
    await this.server.start()
    await this.untilAnswers()
    await unseal(this.anonymous, this.unsealKeys.slice(0, this.threshold))
  }

  /** Waits until the server answers at all, and says how it ended when it did. */
  async untilAnswers(): Promise<void> {
    await waitForAnswer(systemClock, this.client, this.name, WAIT_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}\n--- last log lines of ${this.name}\n${this.server.lastLogLines}`)
    })
  }

  /** `https://host:port` as it tells others. */
  async clusterAddress(): Promise<string> {
    return String((await this.anonymous.read('sys/leader')).leader_cluster_address)
  }

  status(kind: Kind): Promise<Record<string, unknown>> {
    return statusOf(this.anonymous, kind)
  }

  /** Waits for a fact of this cluster; what is still false is shown with the end of its log. */
  async until(what: string, fact: () => Promise<string | undefined>, timeoutMs = WAIT_MS): Promise<void> {
    await waitFor(systemClock, `${this.name}: ${what}`, fact, timeoutMs).catch((error: unknown) => {
      throw new Error(`${String(error)}\n--- last log lines of ${this.name}\n${this.server.lastLogLines}`)
    })
  }

  async untilStatus(kind: Kind, wanted: Readonly<Record<string, unknown>>, timeoutMs = WAIT_MS): Promise<void> {
    const fact = async () => {
      const status = await this.status(kind)
      const wrong = Object.keys(wanted).filter((field) => status[field] !== wanted[field])
      return wrong.length === 0
        ? undefined
        : wrong.map((field) => `${field} is ${JSON.stringify(status[field])}`).join(', ')
    }
    await this.until(`${kind} status ${JSON.stringify(wanted)}`, fact, timeoutMs)
  }

  /** Waits until clients are served again, as after a change of role. */
  async untilServes(): Promise<void> {
    await this.until('serve', async () => {
      const { status } = await this.anonymous.send('GET', 'sys/internal/ui/mounts')
      return status === 200 ? undefined : `it answers ${status}`
    })
  }
}
