import type { Command } from 'commander'
import { systemClock } from '../../../base/clock.js'
import { createSystemRandom } from '../../../base/random.js'
import { exportKubernetes } from '../../../lab/export/kubernetes.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { examples } from '../../terminal/help.js'
import type { Output } from '../../terminal/output.js'
import { deliver, exportCommand, type ExportFlags, readSource } from './export-options.js'

interface KubernetesFlags extends ExportFlags {
  readonly prefix: string
  readonly namespace?: string
}

/** `understudy kubernetes export`: writes a topology as objects for `kubectl apply`. */
export const kubernetesCommand = (output: Output): Command =>
  exportCommand(
    'kubernetes',
    {
      about: 'export topologies for Kubernetes',
      after: examples('kubernetes export pr-dr', 'kubernetes export dr --namespace labs --output lab/'),
    },
    (command) =>
      command
        .description('print a topology as StatefulSets, Services and a Job that sets up replication, for kubectl apply')
        .option('--prefix <name>', 'prefix of the object names', 'understudy')
        .option('--namespace <namespace>', 'namespace of the objects (default: the namespace of kubectl)')
        .addHelpText(
          'after',
          examples(
            'kubernetes export pr-dr --image registry.example/understudy | kubectl apply -f -',
            'kubernetes export -f mine.yaml --namespace labs --output lab/',
          ),
        )
        .action(async (name: string | undefined, flags: KubernetesFlags) => {
          for (const given of [flags.prefix, flags.namespace]) if (given !== undefined) requireName(given)
          const { image, prefix, namespace } = flags
          const source = readSource(name, flags, output)
          const options = { image, prefix, namespace, random: createSystemRandom(), nowMs: systemClock.now() }
          const text = await exportKubernetes(source, options)
          deliver([{ path: 'understudy.yaml', text }], flags, output)
        }),
  )

/** The strictest naming rule is that of Services. The limit leaves space for the short suffixes added here. */
const NAME = /^[a-z](?:[-a-z0-9]{0,45}[a-z0-9])?$/

const requireName = (text: string): void => {
  if (!NAME.test(text))
    throw new LabError('usage', `"${text}" is no name for Kubernetes: lowercase letters, digits and "-", at most 47`)
}
