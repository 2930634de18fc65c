import { systemNetwork } from '../../src/base/network.js'
import { findCommonName } from '../../src/crypto/certificates.js'
import type { Kind } from '../../src/lab/kinds.js'
import { secondaryToken } from '../../src/lab/replication.js'
import type { ClusterAccess } from '../../src/lab/cluster.js'
import { clientOf } from '../../src/lab/cluster.js'
import type { JsonObject } from '../../src/logical/json.js'
import { parseBundle } from '../../src/replication/credentials/activation-token.js'
import { primaryCredentialsOf } from '../../src/replication/credentials/ca.js'
import type { ReceivedDown, PeerIdentityMessage } from '../../src/replication/rpc/messages.js'
import type { FollowerStream, PrimaryConnection } from '../../src/replication/rpc/transport.js'
import { parsePeer, toPeerMessage } from '../../src/replication/rpc/peer-identity.js'
import { TIMES, transportOver } from './replication-fixture.js'

/** Whoever holds the certificate of a secondary and speaks its protocol by hand. */
export class RogueSecondary {
  /** Everything that came down the stream. */
  readonly heard: ReceivedDown[] = []
  readonly #connection: PrimaryConnection
  readonly #stopped = new AbortController()
  readonly #who: PeerIdentityMessage
  #stream: FollowerStream | undefined
  #listening: Promise<void> = Promise.resolve()

  private constructor(connection: PrimaryConnection, who: PeerIdentityMessage) {
    this.#connection = connection
    this.#who = who
  }

  static async join(
    primary: ClusterAccess & { readonly clusterAddress: string },
    kind: Kind,
    id: string,
  ): Promise<RogueSecondary> {
    const client = clientOf(primary)
    const token = await secondaryToken(client, kind, id)
    const answer = await clientOf({ ...primary, apiAddress: primary.apiAddress, rootToken: token }).write(
      'sys/wrapping/unwrap',
      {},
    )
    const bundle = parseBundle(answer.data as JsonObject)
    if (!bundle) throw new Error('no bundle')
    const credentials = primaryCredentialsOf({
      caCertificate: bundle.caCertificate.toString('base64'),
      certificate: bundle.certificate.toString('base64'),
      privateKey: bundle.privateKey.toString('base64'),
      serverName: findCommonName(bundle.caCertificate) ?? '',
      primaryAddresses: [],
    })
    const { signal } = new AbortController()
    const transport = transportOver(systemNetwork)
    const connection = await transport.connect(primary.clusterAddress, { credentials, signal, times: TIMES })
    const who = (epochs: ReturnType<typeof parsePeer>['epochs']) =>
      toPeerMessage({
        setId: bundle.setId,
        clusterId: `cluster-of-${id}`,
        version: '1.20.4+ent',
        epochs,
        apiAddress: '',
        clusterAddresses: [],
        incarnation: 0,
      })
    const reply = await connection.call('bootstrap', { who: who([]), wants_dev_root: false }, {})
    return new RogueSecondary(connection, who(parsePeer(reply.who).epochs))
  }

  /** The answer of the primary to bytes that it is to take for a forwarded request. */
  async forward(payload: Buffer | string): Promise<JsonObject> {
    const reply = await this.#connection.call(
      'forward',
      { who: this.#who, payload: Buffer.from(payload) },
      { timeoutMs: 10_000 },
    )
    return JSON.parse(reply.payload.toString()) as JsonObject
  }

  /** Listens to the log from now on, as a secondary that has everything. */
  listen(): void {
    const stream = this.#connection.streamWals()
    this.#stream = stream
    const run = async () => {
      await stream.send({ open: { who: this.#who, position: null, filter: '' } })
      while (!this.#stopped.signal.aborted) {
        for (const message of await stream.receive()) {
          this.heard.push(message)
          if (message.resync) await stream.send({ start: message.resync.position })
        }
      }
    }
    this.#listening = run().catch(() => undefined)
  }

  /** Everything that was heard, as text in which names of keys can be looked for. */
  get text(): string {
    return JSON.stringify(this.heard, (_name, value: unknown) =>
      isBytes(value) ? Buffer.from(value.data).toString('latin1') : value,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    this.#stream?.end()
    this.#connection.close()
    await this.#listening
  }
}

const isBytes = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'Buffer'
