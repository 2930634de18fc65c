import type { Passwords } from '../../auth/userpass/password-worker.js'
import type { CertificateKeys } from '../../crypto/certificates.js'
import type { JwtKeys } from '../../crypto/jwt.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import type { ReplicationHost } from '../../replication/host/host.js'
import type { ClusterTransport } from '../../replication/rpc/transport.js'

/**
 * Replacements for sockets, and for cryptography that uses threads or its own random numbers, so that a server can be
 * simulated.
 */
export interface StandIns {
  readonly transport: ClusterTransport
  readonly fetchWrapped: ReplicationHost['fetchWrapped']
  readonly certificateKeys: CertificateKeys
  readonly jwtKeys: JwtKeys
  readonly passwords: Passwords
  readonly makePrivateKey: MakePrivateKey
}
