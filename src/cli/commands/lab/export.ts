import { readNamedText } from '../../../base/named-file.js'
import { describeLeftOut, type ExportedFile, type ExportSource, writeExport } from '../../../lab/export/plan.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { readTopologyFile, requireTopology } from '../../../lab/topology/catalogue.js'
import { type FlagsOf, TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { describeServer } from '../../../lab/model/cluster.js'
import { exportCompose } from '../../../lab/export/compose.js'
import { systemClock } from '../../../base/clock.js'
import { createSystemRandom } from '../../../base/random.js'
import { shellWord } from '../../../base/shell.js'
import { makeSecrets } from '../../../lab/export/secrets.js'
import { exportKubernetes } from '../../../lab/export/kubernetes.js'

/** The flags of every export. */
type ExportFlags = FlagsOf<ReturnType<typeof exportCommand>>

/** Defines `understudy NAME export` below its parent, with the common arguments and flags. */
const exportCommand = (parent: TypedCommand, about: string) =>
  parent
    .command('export')
    .argument('[topology]', 'an included topology')
    .flag('-f, --file <file>', 'your own topology file (YAML)')
    .flag('--out <directory>', 'directory for the files (default: print a single file)')
    .flag('--image <image>', 'image of the servers', 'understudy')
    .flag('--force', 'replace existing files')
    .addOption(formerOutput())
    .description(about)

/** The former flag for the directory. Its error names the new one, because --output selects a format elsewhere. */
const formerOutput = (): Option =>
  new Option('-o, --output <directory>').hideHelp().argParser((directory: string) => {
    throw new InvalidArgumentError(`Use --out ${directory}: --output is the format of other commands.`)
  })

/** Reads the topology, and warns of the parts that an export omits. `hasLinks`: the export has a lab daemon. */
const readSource = (
  name: string | undefined,
  { file }: ExportFlags,
  output: Output,
  hasLinks = false,
): ExportSource => {
  if ((name === undefined) === (file === undefined)) {
    throw new LabError('usage', 'specify a topology, such as pr-dr, or a file with --file')
  }
  const topology = file === undefined ? requireTopology(name ?? '') : readTopologyFile(file)
  for (const text of describeLeftOut(topology, hasLinks)) output.complain(`note: ${text}`)
  return { topology, fileText: file === undefined ? undefined : readNamedText(file) }
}

/** Writes the files, or prints a single one. Returns the output directory. */
const deliver = (
  files: readonly ExportedFile[],
  { out: directory, force }: ExportFlags,
  output: Output,
): string | undefined => {
  const [only, ...others] = files
  if (directory !== undefined) {
    for (const file of writeExport(directory, files, force === true)) output.progress(file)
    return directory
  }
  if (others.length > 0)
    throw new LabError('usage', `the export has ${files.length} files: specify a directory with --out`)
  output.data((only?.text ?? '').trimEnd())
  return undefined
}

/**
 * `understudy compose export`: writes a topology as files for `docker compose up`, which needs no other Understudy command.
 * The first container of an export runs `compose secrets` to create the secrets. No file on the host contains them.
 */
export const composeCommand = (output: Output): Command => {
  const compose = new TypedCommand('compose')
    .description('export topologies for Docker Compose')
    .examples('compose export pr-dr', 'compose export -f mine.yaml --out lab/')
  exportCommand(compose, 'export a topology as a Docker Compose file')
    .flag(
      '--hosts <addresses>',
      'address of each cluster or node, for an export to several hosts without a lab daemon, such as A=10.0.0.1,A2=10.0.0.3,B=10.0.0.2',
    )
    .add<{ readonly links: boolean }>(
      new Option('--no-links', 'connect the clusters directly, without the lab daemon that link faults require'),
    )
    .examples(
      'compose export pr-dr > docker-compose.yml',
      'compose export pr-dr --out lab/ --image registry.example/understudy',
      'compose export dr --hosts A=10.0.0.1,B=10.0.0.2 --out lab/',
      'compose export pr-dr --no-links',
    )
    .run((flags, name: string | undefined) => {
      const hosts = flags.hosts === undefined ? undefined : parseHosts(flags.hosts)
      const hasLinks = flags.links && hosts === undefined
      const directory = deliver(
        exportCompose(readSource(name, flags, output, hasLinks), { image: flags.image, hosts, hasLinks }),
        flags,
        output,
      )
      if (directory === undefined) return
      if (hosts)
        output.progress('copy each directory to the host with the same name, and run "docker compose up -d" there')
      else
        output.progress(
          `next: (cd ${shellWord(directory)} && docker compose up -d); understudy attach NAME --compose ${shellWord(directory)}`,
        )
    })
  compose
    .command('secrets')
    .description('generate missing certificates and seal keys')
    .argument('<directory>', 'directory for the files')
    .flag('--tls <hosts>', 'host names of the servers with TLS, such as a,b')
    .flag('--seal <clusters>', 'clusters that unseal themselves, such as A,B')
    .examples('compose secrets /vault/secrets --tls a,b', 'compose secrets keys/ --seal A,B')
    .run(async ({ tls, seal }, directory: string) => {
      const hosts = split(tls, /^[A-Za-z0-9][\w.-]*$/, 'a host name')
      const clusters = split(seal, /^[A-Z]$/, 'a cluster name from A to Z')
      if (hosts.length + clusters.length === 0) throw new LabError('usage', 'specify --tls, --seal or both')
      const surroundings = { random: createSystemRandom(), nowMs: systemClock.now() }
      const made = await makeSecrets(directory, { hosts, clusters }, surroundings)
      output.data(
        made.length === 0 ? `all files already exist in ${directory}` : `created in ${directory}: ${made.join(', ')}`,
      )
    })
  return compose
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

/** `understudy kubernetes export`: writes a topology as objects for `kubectl apply`. */
export const kubernetesCommand = (output: Output): Command => {
  const kubernetes = new TypedCommand('kubernetes')
    .description('export topologies for Kubernetes')
    .examples('kubernetes export pr-dr', 'kubernetes export dr --namespace labs --out lab/')
  exportCommand(kubernetes, 'export a topology as Kubernetes objects')
    .flag('--prefix <name>', 'prefix of the object names', 'understudy')
    .flag('--namespace <namespace>', 'namespace of the objects (default: the namespace of kubectl)')
    .examples(
      'kubernetes export pr-dr --image registry.example/understudy | kubectl apply -f -',
      'kubernetes export -f mine.yaml --namespace labs --out lab/',
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

/** Matches valid names of Services, which have the strictest rule. The limit leaves space for the suffixes of objects. */
const NAME = /^[a-z](?:[-a-z0-9]{0,45}[a-z0-9])?$/

const requireName = (text: string): void => {
  if (!NAME.test(text))
    throw new LabError('usage', `"${text}" is not a Kubernetes name: use at most 47 lowercase letters, digits and "-"`)
}
