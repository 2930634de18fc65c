import path from 'node:path'
import net from 'node:net'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { unlessAborted } from '../../base/await-change.js'
import { linkSignals } from '../../base/linked-signal.js'
import { makeDirectory } from '../../base/make-directory.js'
import { createRevocationList } from '../../crypto/certificates.js'
import { derOf } from '../../crypto/pem.js'
import { LogicalError } from '../../logical/errors.js'
import type { EtcdConnectionOptions } from '../../storage/shared-log/etcd/etcd-connection.js'
import type { EtcdMembers } from '../../storage/shared-log/etcd/etcd-members.js'
import type { EtcdSharedLog } from '../../storage/shared-log/etcd/etcd-shared-log.js'
import { absent, writeFileDurably } from '../../storage/engine/durable-file.js'
import { EtcdChild } from './etcd-child.js'
import type { MemberRecord, PeersOptions } from './membership.js'
import { lookup } from 'node:dns/promises'
import { formatHostPort, parseHostPort } from '../../base/network.js'
import { directoriesOf, findProgram } from '../../base/programs.js'
import type { ServerConfig } from '../config/config.js'

/** The certificates of an etcd member, in PEM. */
export interface MemberTls {
  readonly ca: string
  readonly certificate: string
  readonly privateKey: string
  /** The certificate revocation list, base64 of its DER; undefined before the first removal of a node. */
  readonly revoked?: string | undefined
}

/** A new certificate. `serial` is its serial number in hex. */
export interface IssuedTls extends MemberTls {
  readonly serial: string
}

/** Prefix of all keys that this server writes to etcd. */
export const PREFIX = '/understudy/'

const FILES = { ca: 'ca.pem', certificate: 'certificate.pem', privateKey: 'key.pem' } as const
const REVOKED = 'revoked.der'
const ADDRESSES = 'cluster-addresses'
const DATA = 'data'
const REQUEST_TIMEOUT_MS = 2000
/** Maximum size of etcd's database. etcd's default is 2 GiB. This value is the maximum that etcd recommends. */
const QUOTA_BYTES = 8 * 1024 ** 3
/** Maximum election timeout in ms, which is etcd's default. */
const ELECTION_MS_MAX = 1000

/** Returns the name of a node in etcd. The name is in hex, since etcd treats some characters of a name specially. */
export const memberName = (nodeId: string): string => Buffer.from(nodeId).toString('hex')

export const nodeIdOf = (name: string): string => Buffer.from(name, 'hex').toString('utf8')

export const peerUrl = (peerAddress: string): string => `https://${peerAddress}`

interface EtcdProcessParts {
  readonly options: PeersOptions
  readonly connection: EtcdConnectionOptions
  readonly child: EtcdChild
  readonly members: EtcdMembers
}

/** The etcd process of this server, which is a member of the cluster's etcd. */
export class EtcdProcess {
  readonly members: EtcdMembers
  readonly connection: EtcdConnectionOptions
  readonly #parts: EtcdProcessParts

  private constructor(parts: EtcdProcessParts) {
    this.#parts = parts
    this.connection = parts.connection
    this.members = parts.members
  }

  /** Creates an empty etcd directory that contains the certificates. Deletes an existing one. */
  static async prepare({ directory }: PeersOptions, tls: MemberTls): Promise<void> {
    const target = etcdHome(directory)
    await rm(target, { recursive: true, force: true })
    makeDirectory(target, 0o700)
    for (const [name, file] of Object.entries(FILES)) {
      await writeFile(path.join(target, file), tls[name as keyof typeof FILES], { mode: 0o600 })
    }
    if (tls.revoked !== undefined) await writeRevoked(directory, tls.revoked)
  }

  /**
   * Starts etcd in the directory that `prepare` created. Rejects with LogicalError 503 if etcd is not installed. If
   * etcd exits later, the process is restarted and the exit is logged.
   */
  static async start(
    options: PeersOptions,
    member: MemberRecord,
    onRemoved: () => void,
    onEnd?: (reason: string) => void,
  ): Promise<EtcdProcess> {
    const { config, directory, clock, random, log } = options
    const program = path.resolve(findEtcd(config.own.etcdPath))
    if (!existsSync(path.join(etcdHome(directory), REVOKED))) await writeEmptyList(directory, clock.now())
    const flags = [
      ...flagsOf(etcdHome(directory), member, await peerBindAddress(config)),
      ...electionFlags(config.own.leaderLeaseMs),
    ]
    const { EtcdMembers } = await import('../../storage/shared-log/etcd/etcd-members.js')
    const child = new EtcdChild({
      ...{ clock, random, program, flags, onRemoved },
      onLine: (line) => log.debug('etcd', { line }),
      onRestart: (ended) => log.error('the etcd process of this node exited; restarting it', { ...ended }),
    })
    const connection = { clock, random, addresses: [child.address], requestTimeoutMs: REQUEST_TIMEOUT_MS }
    child.start(onEnd)
    return new EtcdProcess({ options, connection, child, members: new EtcdMembers(connection) })
  }

  /** Opens the log in etcd. Resolves when this member takes part in the consensus. */
  async openLog(signal: AbortSignal): Promise<EtcdSharedLog> {
    const { config, log } = this.#parts.options
    const { leaderLeaseMs: leaseMs } = config.own
    const { EtcdSharedLog } = await import('../../storage/shared-log/etcd/etcd-shared-log.js')
    return EtcdSharedLog.open({ ...this.connection, log, prefix: PREFIX, leaseMs, isOwnMember: true }, signal)
  }

  async close(): Promise<void> {
    this.members.close()
    await this.#parts.child.stop()
  }
}

/** Reads the certificates written by `prepare`. */
export const readMemberTls = async (directory: string): Promise<MemberTls> => {
  const read = (name: keyof typeof FILES) => readFile(path.join(etcdHome(directory), FILES[name]), 'utf8')
  return { ca: await read('ca'), certificate: await read('certificate'), privateKey: await read('privateKey') }
}

/** Replaces the certificate revocation list (DER in base64). etcd reads the list again for each connection. */
export const writeRevoked = (directory: string, list: string): Promise<void> =>
  writeFileDurably(path.join(etcdHome(directory), REVOKED), Buffer.from(list, 'base64'))

/** Saves the cluster addresses of the other nodes. This node reads them while etcd is unavailable. */
export const writeAddresses = (directory: string, addresses: readonly string[]): Promise<void> =>
  writeFileDurably(path.join(etcdHome(directory), ADDRESSES), addresses.map((address) => `${address}\n`).join(''))

export const readAddresses = async (directory: string): Promise<readonly string[]> =>
  (await readFile(path.join(etcdHome(directory), ADDRESSES), 'utf8').catch(absent))?.split('\n').filter(Boolean) ?? []

/**
 * Writes an empty revocation list. etcd requires the file, but does not verify its signature. Before the first removal
 * of a node, this member therefore signs the list itself.
 */
const writeEmptyList = async (directory: string, nowMs: number): Promise<void> => {
  const { certificate, privateKey } = await readMemberTls(directory)
  const signer = { certificate: derOf(certificate), privateKey: derOf(privateKey) }
  const list = await createRevocationList(signer, { serials: [], nowMs })
  await writeRevoked(directory, list.toString('base64'))
}

/**
 * Starts the first etcd member of the cluster. Resolves when etcd responds. If etcd exits or `signal` aborts, stops
 * etcd and rejects with the reason.
 */
export const startFirst = async (
  options: PeersOptions,
  member: MemberRecord,
  { signal, onRemoved }: { readonly signal: AbortSignal; readonly onRemoved: () => void },
): Promise<EtcdProcess> => {
  const failure = new AbortController()
  using end = linkSignals([signal, failure.signal])
  const etcd = await EtcdProcess.start(options, member, onRemoved, (reason) =>
    failure.abort(new LogicalError('unavailable', reason)),
  )
  try {
    end.signal.throwIfAborted()
    await unlessAborted(etcd.members.list(), end.signal)
    return etcd
  } catch (error) {
    await etcd.close()
    throw error
  }
}

const etcdHome = (directory: string): string => path.resolve(directory, 'etcd')

/**
 * Returns etcd's timing flags. etcd does not respond without a leader, so a new leader must be elected before a lease
 * expires.
 */
const electionFlags = (leaseMs: number): readonly string[] => {
  const electionMs = Math.min(ELECTION_MS_MAX, Math.round(leaseMs / 4))
  return ['--election-timeout', `${electionMs}`, '--heartbeat-interval', `${Math.round(electionMs / 10)}`, '--pre-vote']
}

const flagsOf = (
  directory: string,
  { nodeId, peerAddress, initialCluster, token, isFirst }: MemberRecord,
  peerBound: string,
): readonly string[] => {
  const file = (name: keyof typeof FILES) => path.join(directory, FILES[name])
  return [
    ...['--name', memberName(nodeId), '--data-dir', path.join(directory, DATA)],
    ...['--logger', 'zap', '--log-outputs', 'stderr', '--log-level', 'warn'],
    ...['--listen-peer-urls', peerUrl(peerBound), '--initial-advertise-peer-urls', peerUrl(peerAddress)],
    ...['--initial-cluster', initialCluster, '--initial-cluster-token', token],
    ...['--initial-cluster-state', isFirst ? 'new' : 'existing'],
    ...['--quota-backend-bytes', String(QUOTA_BYTES)],
    ...['--peer-client-cert-auth', '--peer-trusted-ca-file', file('ca')],
    ...['--peer-crl-file', path.join(directory, REVOKED)],
    ...['--peer-cert-file', file('certificate'), '--peer-key-file', file('privateKey')],
    // etcd authenticates members by the CA of their certificates. It must not check the source address, which a proxy
    // changes.
    '--experimental-peer-skip-client-san-verification',
  ]
}

type AddressConfig = Pick<ServerConfig, 'clusterAddress' | 'clusterBindAddress' | 'own'>

const ANY_HOST = '0.0.0.0'

export const clusterHost = ({ clusterAddress }: Pick<ServerConfig, 'clusterAddress'>): string =>
  clusterAddress.replace(/^https:\/\//, '')

/** Returns the `host:port` at which other members reach this node's etcd. Default: the port after the cluster port. */
export const peerAddressOf = (config: AddressConfig): string => {
  if (config.own.etcdPeerAddress !== '') return config.own.etcdPeerAddress
  const { host, port } = parseHostPort(clusterHost(config))
  return formatHostPort(host, port + 1)
}

/** Returns the bind address of etcd. Its host is numeric, since etcd accepts no host names. */
const peerBindAddress = async ({ clusterBindAddress, own }: AddressConfig): Promise<string> => {
  const { host, port } = parseHostPort(clusterBindAddress)
  const bound = own.etcdPeerAddress === '' ? port + 1 : parseHostPort(own.etcdPeerAddress).port
  if (host === '') return formatHostPort(ANY_HOST, bound)
  return formatHostPort(net.isIP(host) ? host : (await lookup(host, { family: 4 })).address, bound)
}

/** Returns the path of the etcd binary. Throws LogicalError 503 if it is not found. */
export const findEtcd = (configured: string, searched = process.env.PATH ?? ''): string => {
  if (configured !== '') {
    if (existsSync(configured)) return configured
    throw new LogicalError('unavailable', `the file ${configured} of understudy { etcd_path } does not exist`)
  }
  const program = findProgram('etcd', directoriesOf(searched))
  if (program !== undefined) return program
  throw new LogicalError(
    'unavailable',
    'several nodes with storage "raft" need the program etcd, which is not in PATH: install it (Debian: the package ' +
      'etcd-server), or set understudy { etcd_path }',
  )
}
