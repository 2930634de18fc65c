import { Argument, type Command } from 'commander'
import type { ClusterAccess } from '../../../lab/model/cluster.js'
import { KINDS } from '../../../lab/model/kinds.js'
import { requireAnyLab } from '../../../lab/model/lab-directory.js'
import { readAddresses, toWritten } from '../../../lab/operations/addresses.js'
import { writeRunbook } from '../../../lab/operations/procedures.js'
import { toMarkdown, toScript } from '../../../lab/operations/runbook-texts.js'
import { type OperationName, OPERATIONS } from '../../../lab/operations/written-runbook.js'
import { TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'

/** `understudy runbook`: writes the steps of an operation for a lab or for real clusters. Contacts no server. */
export const runbookCommand = (output: Output): Command =>
  new TypedCommand('runbook')
    .description('write the steps of an operation for your own clusters')
    .addArgument(new Argument('<what>', 'operation that the runbook describes').choices(OPERATIONS))
    .argument('<cluster>', 'first cluster of the operation: the lost, former or present primary')
    .argument('<other>', 'second cluster of the operation')
    .lab()
    .flag(
      '--addresses <file>',
      'file with the addresses of the clusters, YAML or JSON (default: the clusters of the lab)',
    )
    .choice('--kind <kind>', 'replication kind (default: dr; for activate, performance)', KINDS)
    .choice('-o, --output <format>', 'output format', ['md', 'sh', 'yaml', 'json'] as const, 'md')
    .json()
    .examples('runbook failover A B', 'runbook failover A B --addresses clusters.yaml -o sh > failover.sh')
    .run(async (flags, operation: OperationName, one: string, other: string) => {
      const { addresses, name, kind } = flags
      const clusters = addresses === undefined ? clustersOf(name) : readAddresses(addresses)
      const source = addresses ?? `the lab "${name}"`
      const runbook = await writeRunbook({ operation, kind, names: [one, other], clusters, source })
      if (flags.json) output.data(JSON.stringify(runbook, undefined, 2))
      else output.data(flags.output === 'sh' ? toScript(runbook) : toMarkdown(runbook))
    })

/** Returns the clusters of a lab. Omits the cluster address of several nodes, because each node has its own address. */
const clustersOf = (lab: string): readonly ClusterAccess[] =>
  requireAnyLab(lab).clusters.map((cluster) => toWritten(cluster.nodes ? { ...cluster, clusterAddress: '' } : cluster))
