import { existsSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import net from 'node:net'
import { formatHostPort, parseHostPort } from '../../base/network.js'
import { directoriesOf, findProgram } from '../../base/programs.js'
import { LogicalError } from '../../logical/errors.js'
import type { ServerConfig } from '../config/config.js'

type AddressConfig = Pick<ServerConfig, 'clusterAddress' | 'clusterBindAddress' | 'own'>

const ANY_HOST = '0.0.0.0'

export const clusterHost = ({ clusterAddress }: Pick<ServerConfig, 'clusterAddress'>): string =>
  clusterAddress.replace(/^https:\/\//, '')

/** Returns the `host:port` at which other members reach this node's etcd. Default: one port above the cluster port. */
export const peerAddressOf = (config: AddressConfig): string => {
  if (config.own.etcdPeerAddress !== '') return config.own.etcdPeerAddress
  const { host, port } = parseHostPort(clusterHost(config))
  return formatHostPort(host, port + 1)
}

/** Returns the bind address. etcd accepts only numeric ones. */
export const peerBindAddress = async ({ clusterBindAddress, own }: AddressConfig): Promise<string> => {
  const { host, port } = parseHostPort(clusterBindAddress)
  const bound = own.etcdPeerAddress === '' ? port + 1 : parseHostPort(own.etcdPeerAddress).port
  if (host === '') return formatHostPort(ANY_HOST, bound)
  return formatHostPort(net.isIP(host) ? host : (await lookup(host, { family: 4 })).address, bound)
}

/** Returns the path of the etcd binary. Throws LogicalError 503 if it is not found. */
export const findEtcd = (configured: string, searched = process.env.PATH ?? ''): string => {
  if (configured !== '') {
    if (existsSync(configured)) return configured
    throw new LogicalError('unavailable', `understudy { etcd_path } names ${configured}, which is not there`)
  }
  const program = findProgram('etcd', directoriesOf(searched))
  if (program !== undefined) return program
  throw new LogicalError(
    'unavailable',
    'several nodes with storage "raft" need the program etcd, which is not in PATH: install it (Debian: the package ' +
      'etcd-server), or say where it is with understudy { etcd_path }',
  )
}
