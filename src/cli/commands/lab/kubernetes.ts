import type { Command } from 'commander'
import { systemClock } from '../../../base/clock.js'
import { createSystemRandom } from '../../../base/random.js'
import { exportKubernetes } from '../../../lab/export/kubernetes.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'
import { deliver, exportCommand, readSource } from './export-options.js'

/** `understudy kubernetes export`: writes a topology as objects for `kubectl apply`. */
export const kubernetesCommand = (output: Output): Command => {
  const kubernetes = new TypedCommand('kubernetes')
    .description('export topologies for Kubernetes')
    .examples('kubernetes export pr-dr', 'kubernetes export dr --namespace labs --output lab/')
  exportCommand(
    kubernetes,
    'print a topology as StatefulSets, Services and a Job that sets up replication, for kubectl apply',
  )
    .flag('--prefix <name>', 'prefix of the object names', 'understudy')
    .flag('--namespace <namespace>', 'namespace of the objects (default: the namespace of kubectl)')
    .examples(
      'kubernetes export pr-dr --image registry.example/understudy | kubectl apply -f -',
      'kubernetes export -f mine.yaml --namespace labs --output lab/',
    )
    .run(async (flags, name: string | undefined) => {
      for (const given of [flags.prefix, flags.namespace]) if (given !== undefined) requireName(given)
      const { image, prefix, namespace } = flags
      const source = readSource(name, flags, output)
      const options = { image, prefix, namespace, random: createSystemRandom(), nowMs: systemClock.now() }
      const text = await exportKubernetes(source, options)
      deliver([{ path: 'understudy.yaml', text }], flags, output)
    })
  return kubernetes
}

/** The strictest naming rule is that of Services. The limit leaves space for the short suffixes added here. */
const NAME = /^[a-z](?:[-a-z0-9]{0,45}[a-z0-9])?$/

const requireName = (text: string): void => {
  if (!NAME.test(text))
    throw new LabError('usage', `"${text}" is no name for Kubernetes: lowercase letters, digits and "-", at most 47`)
}
