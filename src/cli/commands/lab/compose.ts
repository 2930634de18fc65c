import type { Command } from 'commander'
import { describeServer } from '../../../lab/model/cluster.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { exportCompose } from '../../../lab/export/compose.js'
import { systemClock } from '../../../base/clock.js'
import { createSystemRandom } from '../../../base/random.js'
import { shellWord } from '../../../base/shell.js'
import { makeSecrets } from '../../../lab/export/secrets.js'
import { examples } from '../../terminal/help.js'
import type { Output } from '../../terminal/output.js'
import { deliver, exportCommand, type ExportFlags, readSource } from './export-options.js'

interface ComposeFlags extends ExportFlags {
  readonly hosts?: string
}

/**
 * `understudy compose export`: writes a topology as files for `docker compose up`, which then needs no further
 * Understudy commands.
 */
export const composeCommand = (output: Output): Command => {
  const command = exportCommand(
    'compose',
    {
      about: 'export topologies for Docker Compose',
      after: examples('compose export pr-dr', 'compose export -f mine.yaml --output lab/'),
    },
    (command) =>
      command
        .description('print a compose file that starts a topology and sets up replication')
        .option(
          '--hosts <places>',
          'export for several machines, with addresses that all machines can reach, such as A=10.0.0.1,B=10.0.0.2; A2=10.0.0.3 for a node',
        )
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
              `next: (cd ${shellWord(directory)} && docker compose up -d); understudy attach NAME --compose ${shellWord(directory)}`,
            )
        }),
  )
  addSecrets(command, output)
  return command
}

interface SecretsFlags {
  readonly tls?: string
  readonly seal?: string
}

/**
 * Adds the commands that the first container of an export runs to create secrets, so that no file on the host contains
 * them.
 */
const addSecrets = (compose: Command, output: Output): void => {
  compose
    .command('secrets')
    .description('generate missing certificates and seal keys; an export runs this in a container')
    .argument('<directory>', 'directory for the files')
    .option('--tls <hosts>', 'host names of the servers with TLS, such as a,b')
    .option('--seal <clusters>', 'clusters that unseal themselves, such as A,B')
    .addHelpText('after', examples('compose secrets /vault/secrets --tls a,b', 'compose secrets keys/ --seal A,B'))
    .action(async (directory: string, { tls, seal }: SecretsFlags) => {
      const hosts = split(tls, /^[A-Za-z0-9][\w.-]*$/, 'the name of a host')
      const clusters = split(seal, /^[A-Z]$/, 'the letter of a cluster')
      if (hosts.length + clusters.length === 0) throw new LabError('usage', 'say what for, with --tls or --seal')
      const surroundings = { random: createSystemRandom(), nowMs: systemClock.now() }
      const made = await makeSecrets(directory, { hosts, clusters }, surroundings)
      output.data(made.length === 0 ? `all of it is in ${directory} already` : `${directory} has ${made.join(', ')}`)
    })
}

const split = (text: string | undefined, form: RegExp, what: string): string[] => {
  const parts = text === undefined ? [] : text.split(',').map((part) => part.trim())
  for (const part of parts) if (!form.test(part)) throw new LabError('usage', `"${part}" is not ${what}`)
  return parts
}

const parseHosts = (text: string): Map<string, string> => {
  const hosts = new Map<string, string>()
  for (const part of text.split(',')) {
    const [, name, host] = /^([A-Z]\d?)=(.+)$/.exec(part.trim()) ?? []
    if (!name || !host) throw new LabError('usage', `"${part}" is not of the form A=10.0.0.1`)
    if (hosts.has(name)) throw new LabError('usage', `--hosts names ${describeServer(name)} twice`)
    hosts.set(name, host)
  }
  return hosts
}
