/**
 * Encryption as a service: clients send data to encrypt or sign, and keys do not leave the server unless a client
 * exports them. Keys replicate like all data of a mount. A secondary uses keys itself, and forwards only changes of
 * keys.
 */
import { createPrivateKeyBytes, type MakePrivateKey } from '../../crypto/key-pairs.js'
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { backupPaths } from './backup-paths.js'
import { datakeyPath, encryptionPaths } from './encryption-paths.js'
import { exportPaths, keyConfigPaths, keyPaths } from './key-paths.js'
import { KeyStore } from './key-store.js'
import { mountConfigPaths } from './mount-config-paths.js'
import { signingPaths } from './signing-paths.js'
import { toolPaths } from './tool-paths.js'
import { PeriodicWork } from '../../base/periodic-work.js'
import { isReadOnly } from '../../logical/errors.js'
import { type KeyRecord, versionOf } from './key-record.js'

const createTransit = (context: BackendContext, makePrivateKey: MakePrivateKey): Backend => {
  const keys = new KeyStore(context, makePrivateKey)
  const rotation = rotationOf(keys)
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
      ...mountConfigPaths(context),
    ],
    start: (signal) => rotation.start(context.clock, ROTATION_INTERVAL_MS, signal),
    stop: () => rotation.settled(),
  }
}

export const createTransitType = (makePrivateKey: MakePrivateKey = createPrivateKeyBytes): BackendType => ({
  name: 'transit',
  kind: 'secret',
  factory: (context) => createTransit(context, makePrivateKey),
  localPrefixes: [],
})

export const ROTATION_INTERVAL_MS = 60_000

/**
 * Rotates keys whose latest version has reached the configured age. Runs only on a cluster that can write the keys, and
 * never twice at the same time.
 */
const rotationOf = (keys: KeyStore): PeriodicWork => {
  const { context } = keys
  const work: PeriodicWork = new PeriodicWork(async () => {
    try {
      if (context.isReadOnly()) return
      for (const name of await keys.names()) {
        if (work.isStopped) return
        await rotateIfDue(name)
      }
    } catch (error) {
      if (!work.isStopped) context.log.warn('automatic rotation of transit keys failed', { error: String(error) })
    }
  })

  const rotateIfDue = async (name: string): Promise<void> => {
    try {
      const present = keys.find(name)
      if (!present || !isDue(present)) return
      const { latestVersion } = await keys.rotate(name, isDue)
      context.log.info('automatically rotated a transit key', { key: name, version: latestVersion })
    } catch (error) {
      // If a key cannot be rotated, the rotation of the other keys continues.
      if (work.isStopped || isReadOnly(error)) throw error
      context.log.warn('automatic rotation of a transit key failed', { key: name, error: String(error) })
    }
  }

  const isDue = (record: KeyRecord): boolean => {
    const { autoRotatePeriodSeconds, latestVersion } = record
    if (autoRotatePeriodSeconds === 0) return false
    return context.clock.now() - versionOf(record, latestVersion).createdMs >= autoRotatePeriodSeconds * 1000
  }

  return work
}
