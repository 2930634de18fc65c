import { rmSync } from 'node:fs'
import { replaceFile } from '../../base/replace-file.js'
import path from 'node:path'
import type { Clock } from '../../base/clock.js'
import type { Random } from '../../base/random.js'
import { makeTemporaryDirectory } from '../../base/temporary-directory.js'
import { type TlsFiles, makeLabTls } from '../../server/dev/dev-tls.js'
import { newSealKey } from '../model/seal-key.js'
import { planOf, type Topology } from '../model/topology.js'
import { Balancer } from './balancer.js'

/** The certificates, seal key and load balancer of one cluster. */
interface Provision {
  readonly tls?: TlsFiles | undefined
  /** The auto-unseal key file. */
  readonly sealKeyFile?: string | undefined
  readonly balancer?: Balancer | undefined
}

interface ProvisionsOptions {
  readonly clock: Clock
  /** Returns the random source for the secrets of one cluster. */
  readonly randomFor: (name: string) => Random
}

/** The resources of an in-process lab besides its servers: certificates, seal keys, load balancers, and files. */
export class Provisions {
  readonly #provisions = new Map<string, Provision>()
  #directory: string | undefined

  private constructor() {}

  /** Creates the resources. Removes all of them and rejects if one fails. */
  static async make(topology: Topology, options: ProvisionsOptions): Promise<Provisions> {
    const provisions = new Provisions()
    try {
      await provisions.#fill(topology, options)
      return provisions
    } catch (error) {
      await provisions.close()
      throw error
    }
  }

  of(name: string): Provision {
    return this.#provisions.get(name) ?? {}
  }

  /** Returns the directory for files that are deleted with the lab. */
  directory(): string {
    this.#directory ??= makeTemporaryDirectory('in-process')
    return this.#directory
  }

  async close(): Promise<void> {
    await Promise.all([...this.#provisions.values()].map(({ balancer }) => balancer?.close()))
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true })
  }

  async #fill(topology: Topology, { clock, randomFor }: ProvisionsOptions): Promise<void> {
    const plans = topology.clusters.map((name) => ({ name, ...planOf(topology, name) }))
    const tls = plans.some((plan) => plan.tls)
      ? await makeLabTls(path.join(this.directory(), 'tls'), clock.now())
      : undefined
    for (const { name, tls: hasTls, seal, reach } of plans) {
      const random = randomFor(`${name} provisions`)
      this.#provisions.set(name, {
        tls: hasTls ? tls : undefined,
        sealKeyFile: seal?.type === 'auto' ? this.#writeSealKey(name, random) : undefined,
        balancer: reach === 'load-balancer' ? await Balancer.open(clock, random) : undefined,
      })
    }
  }

  #writeSealKey(name: string, random: Random): string {
    const file = path.join(this.directory(), `${name}-seal.key`)
    replaceFile(file, newSealKey(random).toString('hex'))
    return file
  }
}
