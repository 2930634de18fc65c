import { silentLog } from '../../src/base/log.js'
import { createSeededRandom } from '../../src/base/random.js'
import type { ClusterFacts, ClusterStatus } from '../../src/core/status/cluster-status.js'
import { GenerationAttempt, GenerationSlot } from '../../src/core/seal/generate-root.js'
import { Rekey } from '../../src/core/seal/rekey.js'
import { SealKeys } from '../../src/core/seal/seal-keys.js'
import { SealHealth } from '../../src/core/seal/seal-health.js'
import { SealManager } from '../../src/core/seal/seal-manager.js'
import { generateRootPaths, keyringPaths, rekeyPaths } from '../../src/core/system/key-paths.js'
import { initPaths } from '../../src/core/system/init-paths.js'
import { nodePaths } from '../../src/core/system/node-paths.js'
import { sealPaths } from '../../src/core/system/seal-paths.js'
import { sealWrapPaths } from '../../src/core/system/seal-wrap-paths.js'
import { statusPaths } from '../../src/core/system/status-paths.js'
import type { Backend } from '../../src/logical/backend.js'
import { dispatch } from '../../src/logical/dispatch.js'
import { LogicalError } from '../../src/logical/errors.js'
import type { JsonObject } from '../../src/logical/json.js'
import type { Operation } from '../../src/logical/request.js'
import type { AutoSeal } from '../../src/seal/auto-seal.js'
import { createSealBarrier, createSealStorage } from '../../src/server/wiring/seal-parts.js'
import { Barrier } from '../../src/storage/barrier/barrier.js'
import type { Store } from '../../src/storage/store/store.js'
import { makeRequest } from './backend-harness.js'
import { ManualClock } from './manual-clock.js'
import { openStore } from './open-store.js'

export interface SealFixtureOptions {
  store?: Store
  autoSeal?: AutoSeal
  status?: Partial<Omit<ClusterStatus, 'facts'> & ClusterFacts>
  isShareOwner?: boolean
}

/** The seal of one cluster with its endpoints. A fixture on the storage of a previous one simulates a restart. */
export const createSeal = async (options: SealFixtureOptions = {}) => {
  const store = options.store ?? (await openStore())
  const storage = createSealStorage(store)
  const random = createSeededRandom('seal')
  const clock = new ManualClock()
  const barrier = new Barrier({ store, clock, random })
  const events: string[] = []
  const keys = new SealKeys({ storage, autoSeal: options.autoSeal, random })
  const hooks = {
    async createCluster() {
      events.push(`create, barrier ${barrier.isSealed ? 'closed' : 'open'}`)
      return { rootToken: 'hvs.aaaaaaaaaaaaaaaaaaaaaaaa' }
    },
    async onUnsealed() {
      events.push('unsealed')
    },
    async onSealed() {
      events.push(`sealed, barrier ${barrier.isSealed ? 'closed' : 'open'}`)
    },
  }
  const seal = new SealManager({ keys, storage, barrier: createSealBarrier(barrier), hooks, random, log: silentLog })
  const slot = new GenerationSlot()
  let made = 0
  const makeToken = async () => `hvs.${String(++made).padStart(24, '0')}`
  const attempt = new GenerationAttempt({ strategy: 'root', slot, seal, random, makeToken })
  const drAttempt = new GenerationAttempt({ strategy: 'dr-operation', slot, seal, random, makeToken })
  const rekey = new Rekey({ seal, random, isShareOwner: () => options.isShareOwner ?? true })
  const status: ClusterStatus = { ...STATUS, ...options.status, facts: { ...FACTS, ...options.status } }
  const backend: Backend = {
    type: 'system',
    paths: [
      ...initPaths(seal),
      ...sealPaths({ seal, status, health: new SealHealth(keys, clock) }),
      ...sealWrapPaths(seal),
      ...statusPaths({ seal, status, clock }),
      ...generateRootPaths(attempt),
      ...keyringPaths({
        status: () => ({ term: barrier.activeTerm.term, installTimeMs: barrier.activeTerm.sinceMs, encryptions: 1 }),
        rotate: async () => void (await barrier.rotate()),
      }),
      ...rekeyPaths({ rekey, storage, keys }),
      ...nodePaths({ status, clock, inFlight: () => new Map(), versions: () => [], sanitizedConfig: () => ({}) }),
    ],
  }
  /** Returns status and body of the response, without a transport. */
  const call = async (operation: Operation, path: string, data: JsonObject = {}) => {
    try {
      const response = await dispatch(backend, makeRequest(operation, `sys/${path}`, data), path)
      return { status: response?.status ?? (response ? 200 : 204), body: response?.data as JsonObject }
    } catch (error) {
      if (!(error instanceof LogicalError)) throw error
      return { code: error.code, message: error.message }
    }
  }
  return { store, seal, keys, barrier, clock, events, attempt, drAttempt, slot, rekey, call }
}

const ADDRESSES = { apiAddress: 'http://127.0.0.1:8200', clusterAddress: 'https://127.0.0.1:8201' }

const FACTS: ClusterFacts = {
  clusterName: 'vault-cluster-01234567',
  clusterId: '11111111-2222-3333-4444-555555555555',
  replicationModes: { dr: 'disabled', performance: 'disabled' },
  lastWal: 0,
  lastRemoteWal: 0,
  echoDurationMs: 0,
  clockSkewMs: 0,
  canaryAgeMs: 0,
  activeSinceMs: undefined,
  isFenced: false,
}

const STATUS: Omit<ClusterStatus, 'facts'> = {
  ...ADDRESSES,
  isStandby: false,
  isPerformanceStandby: false,
  isRemoved: false,
  activeNode: ADDRESSES,
  nodes: async () => [{ ...ADDRESSES, hostname: 'host', version: '1.20.4+ent', isActive: true, lastEchoMs: undefined }],
  isRestarting: false,
  hostname: 'host',
  reportedVersion: '1.20.4+ent',
  buildDate: '2026-01-01T00:00:00Z',
  storageType: 'inmem',
  isHaEnabled: true,
  isPlainDev: false,
  license: 'enterprise',
}

/** Initializes through the endpoint, with key shares in hex. */
export const initWith = async (
  fixture: Pick<Awaited<ReturnType<typeof createSeal>>, 'call'>,
  data: JsonObject,
): Promise<{ keys: string[]; keys64: string[]; recoveryKeys: string[]; rootToken: string }> => {
  const { body } = (await fixture.call('update', 'init', data)) as { body: JsonObject }
  return {
    keys: body.keys as string[],
    keys64: body.keys_base64 as string[],
    recoveryKeys: (body.recovery_keys ?? []) as string[],
    rootToken: body.root_token as string,
  }
}
