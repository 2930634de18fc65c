import { LabError } from '../../model/lab-error.js'
import type { LiveLab } from '../../live/live-lab.js'
import { viewNodes } from './status-samples.js'

const NAME = /\$\{([\w.-]+)\}/g

/**
 * Variables that steps saved, and facts about the clusters: `${B.address}`, `${B.cluster_address}` (host and port for other
 * clusters), `${B.root_token}` and `${B.ca_file}` (the certificate authority of its API). In a cluster with several nodes,
 * `${A.active_node}` names the node that was active when the drill started, and `${A.standby_1}` the first of the others.
 */
export class Variables {
  readonly #lab: LiveLab
  readonly #saved = new Map<string, unknown>()

  constructor(lab: LiveLab) {
    this.#lab = lab
  }

  save(name: string, value: unknown): void {
    this.#saved.set(name, value)
  }

  /** Replaces every `${name}` in a value. A string that is only one variable becomes its value, of any type. */
  async resolve<T>(value: T): Promise<T> {
    return (await this.#resolve(value)) as T
  }

  async #resolve(value: unknown): Promise<unknown> {
    if (typeof value === 'string') return this.#resolveText(value)
    if (Array.isArray(value)) return Promise.all(value.map((item) => this.#resolve(item)))
    if (typeof value !== 'object' || value === null) return value
    const pairs = Object.entries(value).map(async ([key, item]) => [key, await this.#resolve(item)] as const)
    return Object.fromEntries(await Promise.all(pairs))
  }

  async #resolveText(text: string): Promise<unknown> {
    const [whole] = text.match(NAME) ?? []
    if (whole === undefined) return text
    if (whole === text) return this.#get(whole.slice(2, -1))
    const names = [...text.matchAll(NAME)].map(([, name = '']) => name)
    const values = new Map(await Promise.all(names.map(async (name) => [name, await this.#get(name)] as const)))
    return text.replace(NAME, (_, name: string) => String(values.get(name)))
  }

  async #get(name: string): Promise<unknown> {
    if (this.#saved.has(name)) return this.#saved.get(name)
    const [, cluster, what] = /^([A-Z])\.(address|cluster_address|root_token|ca_file)$/.exec(name) ?? []
    if (/^[A-Z]\.(active_node|standby_\d)$/.test(name))
      throw new LabError('usage', `no node of the lab was "\${${name}}" when the drill began`)
    if (cluster === undefined) throw new LabError('usage', `no step has saved anything as "\${${name}}"`)
    if (what === 'address') return this.#lab.cluster(cluster).apiAddress
    if (what === 'ca_file') {
      const { caFile } = this.#lab.cluster(cluster)
      if (caFile !== undefined) return caFile
      throw new LabError('usage', `the API of ${cluster} speaks no TLS: it has no authority`)
    }
    if (what === 'root_token') return this.#lab.rootToken(cluster)
    const leader = await this.#lab.anonymous(cluster).read('sys/leader')
    const address = new URL(String(leader.leader_cluster_address)).host
    this.#saved.set(name, address)
    return address
  }

  /** Reads these facts at the start, since a cluster may be down or have another active node later. */
  async learn(): Promise<void> {
    const names = this.#lab.clusters.map(({ name }) => name)
    await Promise.all(names.map((name) => this.#get(`${name}.cluster_address`).catch(() => undefined)))
    await Promise.all(names.map((name) => this.#learnNodes(name)))
  }

  async #learnNodes(cluster: string): Promise<void> {
    const nodes = await viewNodes(this.#lab, cluster)
    const active = nodes.find(({ isActive }) => isActive)
    if (!active) return
    this.save(`${cluster}.active_node`, active.name)
    const standbys = nodes.filter((node) => node !== active)
    for (const [index, { name }] of standbys.entries()) this.save(`${cluster}.standby_${index + 1}`, name)
  }
}

/** Returns the value at a path such as `wrap_info.token` or `data.keys.0`. */
export const valueAt = (value: unknown, place: string): unknown =>
  place
    .split('.')
    .reduce<unknown>(
      (inner, key) =>
        typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
      value,
    )
