import { createRevocationList, findCommonName } from '../../crypto/certificates.js'
import { putJson } from '../../logical/storage.js'
import { refusalCodeOf } from '../../replication/rpc/refusal.js'
import { KEYS } from '../../storage/keys/key-families.js'
import { ensureAuthority, readRevoked, signerOf } from '../nodes/node-authority.js'
import { peerUrl, PREFIX, readAddresses, readMemberTls, writeAddresses, writeRevoked } from './etcd-process.js'
import type { PeersContext } from './peers-context.js'
import { listPeers, peerKey } from './membership.js'

const CALL_MS = 5000
const TIMES = { keepaliveTimeMs: CALL_MS, keepaliveTimeoutMs: CALL_MS, connectTimeoutMs: CALL_MS }

/** Rejects certificates of removed nodes in the cluster; see SPEC.md. */
export class Revocation {
  readonly #context: PeersContext
  #dismissing: Promise<void> = Promise.resolve()
  /** The list last written for this server's etcd. */
  #written: string | undefined
  /** The cluster addresses of other nodes last written to the file. */
  #addresses = ''

  constructor(context: PeersContext) {
    this.#context = context
  }

  /** Performs the pending work of this node. Call it about once a second, without overlap. */
  async look(): Promise<void> {
    if (!this.#context.etcd) return
    if (this.#context.isActive) await this.dismissGone()
    await this.#copyList()
    await this.#askIfRemoved()
  }

  /** Deletes the records of nodes without an etcd member, and revokes their certificates. Runs on the active node. */
  dismissGone(): Promise<void> {
    // Serialized: each run extends the list of the previous one.
    const dismissed = this.#dismissing.then(() => this.#dismissGone())
    this.#dismissing = dismissed.catch(() => undefined)
    return dismissed
  }

  async #dismissGone(): Promise<void> {
    const { known: server, etcd, options } = this.#context
    if (!server || !etcd) return
    const { random, clock } = options
    const { storage } = this.#context
    // A member is added before its record, so a record without a member belongs to a removed node.
    const records = await listPeers(storage)
    const urls = new Set((await etcd.members.list()).flatMap(({ peerURLs }) => peerURLs))
    const gone = records.filter(({ peerAddress }) => !urls.has(peerUrl(peerAddress)))
    if (gone.length === 0) return
    const nowMs = clock.now()
    const authority = await ensureAuthority(storage, random, nowMs)
    const known = readRevoked(storage)?.serials ?? []
    const serials = [...new Set([...known, ...gone.flatMap((one) => one.certificate ?? [])])]
    const list = await createRevocationList(signerOf(authority), { serials, nowMs })
    await storage.write((tx) => {
      for (const { nodeId } of gone) tx.delete(peerKey(nodeId))
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
   * While the other nodes are reachable, saves their cluster addresses. Otherwise asks these addresses whether this node was
   * removed. Etcd cannot report the removal, since it rejects the certificate of a removed node.
   */
  async #askIfRemoved(): Promise<void> {
    const { etcd, options, onRemoved } = this.#context
    const { config, directory } = options
    const nodes = await etcd?.members.findNodes(PREFIX)
    if (nodes) {
      const others = nodes.filter(({ id }) => id !== config.storage.nodeId)
      return this.#keepAddresses(others.map(({ clusterAddress }) => clusterAddress))
    }
    for (const address of await readAddresses(directory)) if (await this.#isRefusedBy(address)) return onRemoved()
  }

  async #keepAddresses(addresses: readonly string[]): Promise<void> {
    const text = addresses.join('\n')
    if (addresses.length === 0 || text === this.#addresses) return
    await writeAddresses(this.#context.options.directory, addresses)
    this.#addresses = text
  }

  async #isRefusedBy(address: string): Promise<boolean> {
    const { known, options, signal } = this.#context
    const { ca: caCertificate, certificate, privateKey } = await readMemberTls(options.directory)
    const serverName = findCommonName(caCertificate) ?? ''
    const credentials = { serverName, caCertificate, certificate, privateKey }
    const connect = { credentials, times: TIMES, signal }
    try {
      const connection = await known?.transport.connect(address, connect)
      await connection
        ?.call('forward', { who: null, payload: Buffer.alloc(0) }, { timeoutMs: CALL_MS })
        .finally(() => connection.close())
    } catch (error) {
      return refusalCodeOf(error) === 'revoked'
    }
    return false
  }
}
