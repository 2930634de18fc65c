import { systemClock } from '../../src/base/clock.js'
import { systemNetwork } from '../../src/base/network.js'
import { findCommonName } from '../../src/crypto/certificates.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { secondaryToken } from '../../src/lab/requests/replication.js'
import type { ClusterAccess } from '../../src/lab/model/cluster.js'
import { clientOf } from '../../src/lab/model/cluster.js'
import type { JsonObject } from '../../src/logical/json.js'
import { parseBundle } from '../../src/replication/credentials/activation-token.js'
import { primaryCredentialsOf } from '../../src/replication/credentials/ca.js'
import type { ReceivedDown, PeerIdentityMessage } from '../../src/replication/rpc/messages.js'
import type { FollowerStream, PrimaryConnection } from '../../src/replication/rpc/transport.js'
import { parsePeer, toPeerMessage } from '../../src/replication/rpc/peer-identity.js'
import { TIMES, transportOver } from './replication-fixture.js'

const RECONNECT_MS = 20

/** An attacker with the certificate of a secondary, which speaks the replication protocol directly. */
export class RogueSecondary {
  /** The reasons for which its connections ended. */
  readonly cuts: unknown[] = []
  #text = ''
  readonly #connect: () => Promise<PrimaryConnection>
  #connection: PrimaryConnection
  readonly #stopped = new AbortController()
  readonly #who: PeerIdentityMessage
  #stream: FollowerStream | undefined
  #listening: Promise<void> = Promise.resolve()

  private constructor(
    connect: () => Promise<PrimaryConnection>,
    connection: PrimaryConnection,
    who: PeerIdentityMessage,
  ) {
    this.#connect = connect
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
    const connect = () => transport.connect(primary.clusterAddress, { credentials, signal, times: TIMES })
    const connection = await connect()
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
    return new RogueSecondary(connect, connection, who(parsePeer(reply.who).epochs))
  }

  /** Sends bytes as a forwarded request, and returns the response of the primary. */
  async forward(payload: Buffer | string): Promise<JsonObject> {
    const reply = await this.#connection.call(
      'forward',
      { who: this.#who, payload: Buffer.from(payload) },
      { timeoutMs: 10_000 },
    )
    return JSON.parse(reply.payload.toString()) as JsonObject
  }

  /**
   * Receives the log from now on, as a secondary without lag. Reconnects after a disconnect, for example because a busy
   * machine missed a keepalive. It then misses the entries written in between.
   */
  listen(): void {
    const run = async () => {
      while (!this.#stopped.signal.aborted) {
        await this.#receive().catch((error: unknown) => this.cuts.push(error))
        await systemClock.sleep(RECONNECT_MS, this.#stopped.signal)
        this.#connection.close()
        this.#connection = await this.#connect()
      }
    }
    this.#listening = run().catch((error: unknown) => {
      if (!this.#stopped.signal.aborted) this.cuts.push(error)
    })
  }

  async #receive(): Promise<void> {
    const stream = this.#connection.streamWals()
    this.#stream = stream
    await stream.send({ open: { who: this.#who, position: null, filter: '' } })
    while (!this.#stopped.signal.aborted) {
      for (const message of await stream.receive()) {
        this.#text += asText(message)
        if (message.resync) await stream.send({ start: message.resync.position })
      }
    }
  }

  /** All received data as text, which can be searched for key names. */
  get text(): string {
    return this.#text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    this.#stream?.end()
    this.#connection.close()
    await this.#listening
    // A reconnect may have been in progress.
    this.#connection.close()
  }
}

const asText = (message: ReceivedDown): string =>
  JSON.stringify(message, (_name, value: unknown) =>
    isBytes(value) ? Buffer.from(value.data).toString('latin1') : value,
  )

const isBytes = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'Buffer'
