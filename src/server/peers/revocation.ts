import { createRevocationList, findCommonName } from '../../crypto/certificates.js'
import { putJson } from '../../logical/storage.js'
import { refusalCodeOf } from '../../replication/rpc/refusal.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { ensureAuthority, readRevoked, signerOf } from '../nodes/node-authority.js'
import { peerUrl, PREFIX, readAddresses, readMemberTls, writeAddresses, writeRevoked } from './etcd-process.js'
import type { PeersContext } from './peers-context.js'
import { listPeers, peerKey } from './membership.js'

const TIMEOUT_MS = 5000
const TIMES = { keepaliveTimeMs: TIMEOUT_MS, keepaliveTimeoutMs: TIMEOUT_MS, connectTimeoutMs: TIMEOUT_MS }

/** Revokes the certificates of removed nodes, and detects the removal of this node; see SPEC.md. */
export class Revocation {
  readonly #context: PeersContext
  #revoking: Promise<void> = Promise.resolve()
  /** The list that was last written for the etcd process of this server. */
  #written: string | undefined
  /** The cluster addresses that were last written to the file, one per line. */
  #addresses = ''

  constructor(context: PeersContext) {
    this.#context = context
  }

  /** Performs the pending work of this node. The caller calls it about once a second, and never while a call runs. */
  async check(): Promise<void> {
    if (!this.#context.etcd) return
    if (this.#context.isActive) await this.revokeRemoved()
    await this.#copyList()
    await this.#askIfRemoved()
  }

  /** Deletes the records of nodes without an etcd member, and revokes their certificates. Runs on the active node. */
  revokeRemoved(): Promise<void> {
    // Runs are serialized, since each run extends the list of the previous run.
    const revoked = this.#revoking.then(() => this.#revokeRemoved())
    this.#revoking = revoked.catch(() => undefined)
    return revoked
  }

  async #revokeRemoved(): Promise<void> {
    const { known: server, etcd, options } = this.#context
    if (!server || !etcd) return
    const { random, clock } = options
    const { storage } = this.#context
    // A member is added before its record, so a record without a member belongs to a removed node.
    const records = await listPeers(storage)
    const urls = new Set((await etcd.members.list()).flatMap(({ peerURLs }) => peerURLs))
    const removed = records.filter(({ peerAddress }) => !urls.has(peerUrl(peerAddress)))
    if (removed.length === 0) return
    const nowMs = clock.now()
    const authority = await ensureAuthority(storage, random, nowMs)
    const known = readRevoked(storage)?.serials ?? []
    const serials = [...new Set([...known, ...removed.flatMap((one) => one.certificate ?? [])])]
    const list = await createRevocationList(signerOf(authority), { serials, nowMs })
    await storage.write((tx) => {
      for (const { nodeId } of removed) tx.delete(peerKey(nodeId))
      putJson(tx, KEYS.revokedNodes, { serials, list: list.toString('base64') })
    })
    await this.#copyList()
  }

  async #copyList(): Promise<void> {
    const { known, options } = this.#context
    const list = known && readRevoked(this.#context.runtime.barrier)?.list
    if (list === undefined || list === this.#written) return
    await writeRevoked(options.directory, list)
    this.#written = list
  }

  /**
   * While etcd is available, saves the cluster addresses of the other nodes. Otherwise asks these addresses whether
   * this node was removed. etcd cannot report the removal, since it rejects the certificate of a removed node.
   */
  async #askIfRemoved(): Promise<void> {
    const { etcd, options, onRemoved } = this.#context
    const { config, directory } = options
    const nodes = await etcd?.members.findNodes(PREFIX)
    if (nodes) {
      const others = nodes.filter(({ id }) => id !== config.storage.nodeId)
      return this.#saveAddresses(others.map(({ clusterAddress }) => clusterAddress))
    }
    for (const address of await readAddresses(directory)) if (await this.#isRevokedAt(address)) return onRemoved()
  }

  async #saveAddresses(addresses: readonly string[]): Promise<void> {
    const text = addresses.join('\n')
    if (addresses.length === 0 || text === this.#addresses) return
    await writeAddresses(this.#context.options.directory, addresses)
    this.#addresses = text
  }

  async #isRevokedAt(address: string): Promise<boolean> {
    const { known, options, signal } = this.#context
    const { ca: caCertificate, certificate, privateKey } = await readMemberTls(options.directory)
    const serverName = findCommonName(caCertificate) ?? ''
    const credentials = { serverName, caCertificate, certificate, privateKey }
    const connect = { credentials, times: TIMES, signal }
    try {
      const connection = await known?.transport.connect(address, connect)
      await connection
        ?.call('forward', { who: null, payload: Buffer.alloc(0) }, { timeoutMs: TIMEOUT_MS })
        .finally(() => connection.close())
    } catch (error) {
      return refusalCodeOf(error) === 'revoked'
    }
    return false
  }
}
