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
import { askAgain, type LabView, observe } from '../../lab/status/observe.js'
import { waitFor } from '../../lab/requests/wait.js'
import { type FlagsOf, TypedCommand } from '../terminal/command.js'
import { type Output, printResult } from '../terminal/output.js'
import { parseTimeout, RESPONSE_TIMEOUT } from './lab/options.js'

/** Conditions of a whole lab. Each returns undefined if it is true, and otherwise the reason why it is false. */
const LAB_CONDITIONS = {
  converged: ({ clusters, links }: LabView, lab: AnyLab, timeoutMs: number) =>
    findUnconverged(clusters, links, askAgain(lab, clusters, timeoutMs)),
  healthy: async ({ problems }: LabView) => (problems.length === 0 ? undefined : problems.join('; ')),
} as const

type LabCondition = keyof typeof LAB_CONDITIONS

const STATES = [...READINESS, ...(Object.keys(LAB_CONDITIONS) as LabCondition[])]

type WaitFlags = FlagsOf<ReturnType<typeof waitFlags>>

/** `understudy wait`: waits until a server, or every cluster of a lab, meets a condition. Exits with 4 on a timeout. */
export const waitCommand = (output: Output): Command =>
  waitFlags()
    .examples(
      'wait --for converged --timeout 1m',
      'wait --for active --cluster B',
      'wait --addr http://127.0.0.1:8200 --for unsealed',
    )
    .run((flags) => {
      const { addr, name, for: wanted } = flags
      const target = addr === undefined ? { lab: name } : { addr }
      return printResult(output, flags, { ...target, state: wanted }, async () => {
        const task = { host: thisHost(), timeoutMs: parseTimeout(flags.timeout) }
        const messages = isLabCondition(wanted)
          ? [await waitForLab(labOf(flags, wanted), wanted, task)]
          : await Promise.all(serversOf(flags).map((server) => waitForServer(server, wanted, task)))
        return { messages }
      })
    })

const waitFlags = () =>
  new TypedCommand('wait')
    .description('wait until a server or a lab reaches a state')
    .flag('--addr <url>', 'address of one server (default: every cluster of the lab)')
    .lab()
    .flag('--cluster <cluster>', 'wait only for this cluster, or for a node such as A2 (default: every cluster)')
    .choice('--for <state>', 'state to wait for; converged and healthy apply to the whole lab', STATES, 'replicated')
    .flag('--timeout <duration>', 'maximum time to wait, such as 30s', '30s')
    .json('print JSON: the reached state, and the time in milliseconds')

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

const isLabCondition = (wanted: Readiness | LabCondition): wanted is LabCondition =>
  Object.hasOwn(LAB_CONDITIONS, wanted)

const labOf = ({ addr, cluster, name }: WaitFlags, wanted: LabCondition): AnyLab => {
  if (addr !== undefined || cluster !== undefined)
    throw new LabError(
      'usage',
      `"${wanted}" applies to a whole lab: remove ${addr === undefined ? '--cluster' : '--addr'}`,
    )
  return requireAnyLab(name)
}

/** Runs `work` as a step that the progress output shows. Resolves with the result of the step, a sentence. */
const waitInStep = async (what: string, wanted: string, work: () => Promise<void>): Promise<string> => {
  const result = `${what} is ${wanted}`
  await inStep(`wait for ${what} to be ${wanted}`, work, result)
  return result
}

const waitForLab = (lab: AnyLab, wanted: LabCondition, { host, timeoutMs }: Task): Promise<string> => {
  const what = `the lab "${lab.name}"`
  const responseMs = parseTimeout(RESPONSE_TIMEOUT)
  const findUnmet = async () => LAB_CONDITIONS[wanted](await observe(lab, host, responseMs), lab, responseMs)
  return waitInStep(what, wanted, () => waitFor(host.clock, `${what} to be ${wanted}`, findUnmet, timeoutMs))
}

/** Waits until a server reaches a state. Rejects at once on a permanent failure, for example an unknown host. */
const waitForServer = async (
  { label, client, follow }: Server,
  wanted: Readiness,
  { host, timeoutMs }: Task,
): Promise<string> => {
  const failure = new AbortController()
  const findUnmet = async () => {
    try {
      await follow?.()
      const { status, json } = await client.send('GET', 'sys/health')
      if (!json && status < SERVER_ERROR_MIN)
        failure.abort(
          new LabError('usage', `${client.address} does not serve the Vault HTTP API: it responds with ${status}`),
        )
      return await findMissing(client, wanted)
    } catch (error) {
      if (isUnknownHost(error)) failure.abort(new LabError('usage', `${client.address}: unknown host`))
      const reason = error instanceof ApiUnreachable ? explainUnreachable(error.url, host) : undefined
      if (reason !== undefined) return reason
      throw error
    }
  }
  try {
    return await waitInStep(label, wanted, () =>
      waitFor(host.clock, `${label} to be ${wanted}`, findUnmet, timeoutMs, failure.signal),
    )
  } finally {
    client.close()
  }
}

/** The lowest HTTP status of a server error. A proxy may respond with such a status while its server is not running. */
const SERVER_ERROR_MIN = 500

const isUnknownHost = (error: unknown): boolean =>
  error instanceof ApiUnreachable && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOTFOUND'

/** Returns the cluster or node with this name; all clusters if `name` is undefined. */
const findTargets = (lab: AnyLab, name: string | undefined): ClusterOfNodes[] => {
  if (name === undefined) return [...lab.clusters]
  const found = findNode(lab.clusters, name)
  if (found) return [{ ...found.cluster, ...found.server, nodes: undefined }]
  return chooseClusters<ClusterOfNodes>(lab, [name])
}

/**
 * Returns the servers to wait for: that of `--addr`, those of `--cluster`, or one for each cluster of the lab. Throws
 * LabError `usage` for an invalid address and for an unknown cluster.
 */
const serversOf = ({ addr, name, cluster }: WaitFlags): Server[] => {
  if (addr === undefined) {
    return findTargets(requireAnyLab(name), cluster).map(serverOf)
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
