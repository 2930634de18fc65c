/**
 * Encryption as a service: clients send data to be encrypted or signed, and keys never leave the server unless exported.
 * Keys replicate like all data of a mount. A secondary uses them locally and forwards only changes to them.
 */
import { createPrivateKeyBytes, type MakePrivateKey } from '../../crypto/key-pairs.js'
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { backupPaths } from './backup-paths.js'
import { datakeyPath } from './datakey-paths.js'
import { encryptionPaths } from './encryption-paths.js'
import { exportPaths } from './export-paths.js'
import { keyConfigPaths } from './key-config-paths.js'
import { keyPaths } from './key-paths.js'
import { KeyStore } from './key-store.js'
import { Rotation } from './rotation.js'
import { signingPaths } from './signing-paths.js'
import { toolPaths } from './tool-paths.js'

const createTransit = (context: BackendContext, makePrivateKey: MakePrivateKey): Backend => {
  const keys = new KeyStore(context, makePrivateKey)
  const rotation = new Rotation(keys)
  return {
    type: 'transit',
    paths: [
      ...keyPaths(keys),
      ...keyConfigPaths(keys),
      ...encryptionPaths(keys),
      datakeyPath(keys),
      ...signingPaths(keys),
      ...toolPaths(context),
      ...exportPaths(keys),
      ...backupPaths(keys),
    ],
    start: (signal) => rotation.start(signal),
    stop: () => rotation.settled(),
  }
}

export const createTransitType = (makePrivateKey: MakePrivateKey = createPrivateKeyBytes): BackendType => ({
  name: 'transit',
  kind: 'secret',
  factory: (context) => createTransit(context, makePrivateKey),
  localPrefixes: [],
})
