import type { Command } from 'commander'
import { LabError } from '../../../lab/lab-error.js'
import { exportCompose } from '../../../lab/export/compose.js'
import { examples } from '../../help.js'
import type { Output } from '../../output.js'
import { deliver, exportCommand, type ExportFlags, readSource } from './export-options.js'

interface ComposeFlags extends ExportFlags {
  readonly hosts?: string
}

/** `understudy compose export`: a topology as files that `docker compose up` brings up without us. */
export const composeCommand = (output: Output): Command =>
  exportCommand(
    'compose',
    {
      about: 'export topologies for Docker compose',
      after: examples('compose export pr-dr', 'compose export -f mine.yaml --output lab/'),
    },
    (command) =>
      command
        .description('print a compose file that brings a topology up by itself, replicated and restartable')
        .option('--hosts <places>', 'on several machines, by addresses that all reach, such as A=10.0.0.1,B=10.0.0.2')
        .addHelpText(
          'after',
          examples(
            'compose export pr-dr > docker-compose.yml',
            'compose export pr-dr --output lab/ --image registry.example/understudy',
            'compose export dr --hosts A=10.0.0.1,B=10.0.0.2 --output lab/',
          ),
        )
        .action((name: string | undefined, flags: ComposeFlags) => {
          const hosts = flags.hosts === undefined ? undefined : parseHosts(flags.hosts)
          const directory = deliver(
            exportCompose(readSource(name, flags, output), { image: flags.image, hosts }),
            flags,
            output,
          )
          if (directory === undefined) return
          if (hosts) output.progress('run "docker compose up -d" in each directory, on the machine it is named after')
          else
            output.progress(
              `next: (cd ${directory} && docker compose up -d); understudy attach NAME --compose ${directory}`,
            )
        }),
  )

const parseHosts = (text: string): Map<string, string> => {
  const hosts = new Map<string, string>()
  for (const part of text.split(',')) {
    const [, name, host] = /^([A-Z])=(.+)$/.exec(part.trim()) ?? []
    if (!name || !host) throw new LabError('usage', `"${part}" is not of the form A=10.0.0.1`)
    if (hosts.has(name)) throw new LabError('usage', `--hosts names cluster ${name} twice`)
    hosts.set(name, host)
  }
  return hosts
}
