import { uuid } from '../../base/id.js'
import { messageOf } from '../../base/printable.js'
import { LogicalError } from '../../logical/errors.js'
import { removeGenerations } from '../../storage/engine/generation-record.js'
import { openCopy } from '../data/shared-storage.js'
import { type MemberRecord, writePeer } from './membership.js'
import {
  clusterHost,
  type IssuedTls,
  memberName,
  EtcdProcess,
  peerAddressOf,
  peerUrl,
  PREFIX,
  startFirst,
} from './etcd-process.js'
import type { PeersContext } from './peers-context.js'

interface Steps {
  /** Issues the certificate of the etcd member with this address. */
  readonly certify: (peerAddress: string) => Promise<IssuedTls>
  /** Stores durably that the data is in etcd from now on. */
  readonly decide: (member: MemberRecord, etcd: EtcdProcess) => Promise<void>
  /** Stores durably that the data is in LevelDB as before. */
  readonly undo: () => Promise<void>
}

/** Migrates a single-node cluster to storage for several nodes: from LevelDB to a log in etcd with one member. */
export class StorageMigration {
  readonly #context: PeersContext
  readonly #steps: Steps
  #running: Promise<void> | undefined
  #failure = ''

  constructor(context: PeersContext, steps: Steps) {
    this.#context = context
    this.#steps = steps
  }

  /** The error for servers that send a join request during the migration. */
  get refusal(): LogicalError {
    const failure = this.#failure && `; the last attempt failed: ${this.#failure}`
    return new LogicalError(
      'unavailable',
      `this cluster is migrating to storage for several nodes: try again${failure}`,
    )
  }

  begin(): void {
    this.#running ??= this.#run()
      .catch((error: unknown) => {
        this.#failure = messageOf(error)
        if (this.#context.signal.aborted) return
        this.#context.options.log.error('the migration to storage for several nodes failed', { error })
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  async settled(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    const { options, storage } = this.#context
    const { config, directory, random } = options
    const { nodeId } = config.storage
    const peerAddress = peerAddressOf(config)
    const clusterAddress = clusterHost(config)
    const { serial, ...tls } = await this.#steps.certify(peerAddress)
    await EtcdProcess.prepare(options, tls)
    const peer = { nodeId, peerAddress, clusterAddress, certificate: serial }
    await writePeer(storage, peer)
    const initialCluster = `${memberName(nodeId)}=${peerUrl(peerAddress)}`
    const member: MemberRecord = { nodeId, peerAddress, initialCluster, token: uuid(random), isFirst: true }
    await this.#move(member, await startFirst(options, member, this.#context))
    await removeGenerations(directory)
  }

  /** Copies the data to etcd and opens it there. The migration cannot be undone after `decide` has succeeded. */
  async #move(member: MemberRecord, etcd: EtcdProcess): Promise<void> {
    const { signal, options, server } = this.#context
    const { directory, random, log } = options
    const { host } = server
    let isDecided = false
    await host.pauseWrites()
    try {
      await host.moveData('the cluster migrates to storage for several nodes', async (engine) => {
        const { beginLog } = await import('../../storage/shared-log/etcd/etcd-image.js')
        await beginLog({ ...etcd.connection, prefix: PREFIX }, engine, random, signal)
        const sharedLog = await etcd.openLog(signal)
        const copy = await openCopy(directory, log)
        // After this call, no step may fail.
        await this.#steps.decide(member, etcd)
        isDecided = true
        server.becomeNode(sharedLog)
        return copy
      })
    } catch (error) {
      host.resumeWrites()
      if (!isDecided) {
        await this.#steps.undo()
        await etcd.close()
      }
      throw error
    }
  }
}
