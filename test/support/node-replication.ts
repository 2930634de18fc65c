import { expect } from 'vitest'
import type { Kind } from '../../src/lab/model/kinds.js'
import { enableSecondary, findLag, secondaryToken, statusOf } from '../../src/lab/requests/replication.js'
import type { TestNode, TestNodes } from './nodes.js'
import { until } from './until.js'

/** Replication between clusters with one or several nodes. */

const roleIs = (node: TestNode, kind: Kind, mode: string, nodes: TestNodes) =>
  until(async () => (await statusOf(nodes.clientOf(node), kind).catch(() => undefined))?.mode === mode)

/**
 * Makes `secondary` a secondary of `primary`, which is enabled first if necessary. `primaryAddress`: the address in the
 * activation token. The keys of the primary unseal both clusters afterwards.
 */
export const joinNodes = async (
  primary: TestNodes,
  secondary: TestNodes,
  kind: Kind,
  { id = 'second', primaryAddress = '' }: { readonly id?: string; readonly primaryAddress?: string } = {},
): Promise<void> => {
  const active = await primary.active()
  const above = primary.clientOf(active)
  if ((await statusOf(above, kind)).mode !== 'primary') {
    await above.write(`sys/replication/${kind}/primary/enable`, { primary_cluster_addr: primaryAddress })
  }
  await roleIs(active, kind, 'primary', primary)
  const below = await secondary.active()
  await enableSecondary(secondary.clientOf(below), kind, await secondaryToken(above, kind, id))
  secondary.keys = primary.keys
  await roleIs(below, kind, 'secondary', secondary)
  for (const other of secondary.without(below)) {
    await until(async () => (await other.anonymous.read('sys/seal-status')).sealed === true)
    await secondary.unseal(other)
  }
  await level(primary, secondary, kind)
}

/** Resolves when the secondary streams and has applied everything. */
export const level = async (primary: TestNodes, secondary: TestNodes, kind: Kind): Promise<void> => {
  let lag: string | undefined = 'not checked yet'
  await until(async () => {
    const [above, below] = [await primary.serving(), await secondary.serving()]
    if (!above || !below) return false
    const clients = [primary.clientOf(above), secondary.clientOf(below)] as const
    lag = await findLag(...clients, kind).catch((error: unknown) => String(error))
    return lag === undefined
  })
}

/** Returns the cluster addresses at which the secondary looks for its primary, in order. */
export const knownAddresses = async (secondary: TestNodes, kind: Kind): Promise<readonly string[]> => {
  const below = await secondary.serving()
  const status = below && (await statusOf(secondary.clientOf(below), kind).catch(() => undefined))
  return (status?.known_primary_cluster_addrs ?? []) as string[]
}

/** Returns the sum of all counters of this active node whose name ends with `name`. */
export const counted = async (node: TestNode, nodes: TestNodes, name: string): Promise<number> => {
  const answer = await nodes.clientOf(node).send('GET', 'sys/metrics')
  expect(answer.status).toBe(200)
  const { Samples = [] } = answer.json as { Samples?: { Name: string; Count: number }[] }
  return Samples.filter(({ Name }) => Name.endsWith(name)).reduce((sum, { Count }) => sum + Count, 0)
}

/** Checks that a secondary found its position in the log of this node, and that no data was compared. */
export const expectStreamedAlone = async (node: TestNode, nodes: TestNodes): Promise<void> => {
  expect(await counted(node, nodes, '.guard_found')).toBeGreaterThan(0)
  expect(await counted(node, nodes, '.conflicting_pages_request')).toBe(0)
}
