import type { Command } from 'commander'
import { inStep } from '../../base/progress.js'
import { ApiClient, ApiUnreachable } from '../../client/api-client.js'
import { type AnyLab, clientOf, describeServer } from '../../lab/model/cluster.js'
import { LabError } from '../../lab/model/lab-error.js'
import { requireAnyLab } from '../../lab/model/lab-directory.js'
import { type LabHost, thisHost } from '../../lab/processes/lab-host.js'
import { atReachableNode, type ClusterOfNodes } from '../../lab/nodes/nodes.js'
import { explainUnreachable } from '../../lab/lifecycle/listing.js'
import { chooseClusters, findNode } from '../../lab/nodes/choose.js'
import { findUnconverged } from '../../lab/status/links.js'
import { findMissing, READINESS, type Readiness } from '../../lab/status/readiness.js'
import { type LabView, observe } from '../../lab/status/observe.js'
import { waitFor } from '../../lab/requests/wait.js'
import { type FlagsOf, TypedCommand } from '../terminal/command.js'
import { type Output, printDone } from '../terminal/output.js'
import { parseTimeout } from './lab/options.js'

/** Conditions of a whole lab. Each returns a description of why it does not hold, or undefined if it holds. */
const OF_LAB = {
  converged: ({ clusters, links }: LabView) => findUnconverged(clusters, links),
  healthy: ({ problems }: LabView) => (problems.length === 0 ? undefined : problems.join('; ')),
} as const

type OfLab = keyof typeof OF_LAB

const STATES = [...READINESS, ...(Object.keys(OF_LAB) as OfLab[])]

type WaitFlags = FlagsOf<ReturnType<typeof waitFlags>>

/**
 * `understudy wait`: returns when a server, or every cluster of a lab, meets the condition. Exits with 4 on a timeout.
 */
export const waitCommand = (output: Output): Command =>
  waitFlags()
    .examples(
      'wait --for converged --timeout 1m',
      'wait --for active --cluster B',
      'wait --addr http://127.0.0.1:8200 --for unsealed',
    )
    .run((flags) => {
      const { addr, name, for: wanted } = flags
      const place = addr === undefined ? { lab: name } : { addr }
      return printDone(output, flags, { ...place, state: wanted }, async () => {
        const task = { host: thisHost(), timeoutMs: parseTimeout(flags.timeout) }
        const messages = isOfLab(wanted)
          ? [await waitForLab(labOf(flags, wanted), wanted, task)]
          : await Promise.all(serversOf(flags).map((server) => waitForServer(server, wanted, task)))
        return { messages }
      })
    })

const waitFlags = () =>
  new TypedCommand('wait')
    .description('wait until a server or a lab reaches a state')
    .flag('--addr <url>', 'one server (default: every cluster of the lab)')
    .lab()
    .flag('--cluster <cluster>', 'only this cluster of the lab, or a node such as A2')
    .choice('--for <state>', 'state; converged and healthy apply to a lab only', STATES, 'replicated')
    .flag('--timeout <duration>', 'maximum time, such as 30s', '30s')
    .json('print JSON: what was reached, and after which time')

interface Task {
  readonly host: LabHost
  readonly timeoutMs: number
}

interface Server {
  readonly label: string
  readonly client: ApiClient
  /** Finds the active node, which the client then uses. */
  readonly follow?: () => Promise<void>
}

const isOfLab = (wanted: Readiness | OfLab): wanted is OfLab => Object.hasOwn(OF_LAB, wanted)

const labOf = ({ addr, cluster, name }: WaitFlags, wanted: OfLab): AnyLab => {
  if (addr !== undefined || cluster !== undefined)
    throw new LabError(
      'usage',
      `"${wanted}" applies to a whole lab: remove ${addr === undefined ? '--cluster' : '--addr'}`,
    )
  return requireAnyLab(name)
}

/** Waits in a step. Resolves with its result. */
const waitInStep = async (what: string, wanted: string, work: () => Promise<void>): Promise<string> => {
  const result = `${what} is ${wanted}`
  await inStep(`wait for ${what} to be ${wanted}`, work, result)
  return result
}

const waitForLab = (lab: AnyLab, wanted: OfLab, { host, timeoutMs }: Task): Promise<string> => {
  const what = `the lab "${lab.name}"`
  const fact = async () => OF_LAB[wanted](await observe(lab, host))
  return waitInStep(what, wanted, () => waitFor(host.clock, `${what} to be ${wanted}`, fact, timeoutMs))
}

/** Waits for a server. Ends at once on a permanent failure, for example an unknown host. */
const waitForServer = async (
  { label, client, follow }: Server,
  wanted: Readiness,
  { host, timeoutMs }: Task,
): Promise<string> => {
  const wrong = new AbortController()
  const fact = async () => {
    try {
      await follow?.()
      const { status, json } = await client.send('GET', 'sys/health')
      if (!json && status < SERVER_ERROR)
        wrong.abort(
          new LabError('usage', `${client.address} does not serve the Vault HTTP API: it responds with ${status}`),
        )
      return await findMissing(client, wanted)
    } catch (error) {
      if (isUnknownHost(error)) wrong.abort(new LabError('usage', `${client.address}: unknown host`))
      const reason = error instanceof ApiUnreachable ? explainUnreachable(error.url, host) : undefined
      if (reason !== undefined) return reason
      throw error
    }
  }
  try {
    return await waitInStep(label, wanted, () =>
      waitFor(host.clock, `${label} to be ${wanted}`, fact, timeoutMs, wrong.signal),
    )
  } finally {
    client.close()
  }
}

/** Lowest server error status. A proxy may respond with such a status while its server is not running. */
const SERVER_ERROR = 500

const isUnknownHost = (error: unknown): boolean =>
  error instanceof ApiUnreachable && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOTFOUND'

/** Returns the clusters and nodes with this name; all clusters without a name. */
const placesOf = (lab: AnyLab, name: string | undefined): ClusterOfNodes[] => {
  if (name === undefined) return [...lab.clusters]
  const found = findNode(lab.clusters, name)
  if (found) return [{ ...found.cluster, ...found.server, nodes: undefined }]
  return chooseClusters<ClusterOfNodes>(lab, [name])
}

/** Returns the servers: clusters of a lab by letter, nodes, or one server by address. */
const serversOf = ({ addr, name, cluster }: WaitFlags): Server[] => {
  if (addr === undefined) {
    return placesOf(requireAnyLab(name), cluster).map(serverOf)
  }
  if (!/^https?:\/\/[^/]+/.test(addr) || !URL.canParse(addr))
    throw new LabError('usage', `"${addr}" is not an address such as http://127.0.0.1:8200`)
  return [{ label: addr, client: new ApiClient({ address: addr, skipVerify: true }) }]
}

const serverOf = (cluster: ClusterOfNodes): Server => {
  const label = describeServer(cluster.name)
  const client = clientOf({ ...cluster, rootToken: '' })
  if (!cluster.nodes) return { label, client }
  let address = cluster.apiAddress
  const follow = async () => {
    address = (await atReachableNode(cluster)).apiAddress
  }
  return { label, client: client.with({ address: () => address }), follow }
}
