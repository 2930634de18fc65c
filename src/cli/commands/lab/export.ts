import { readNamedText } from '../../../base/named-file.js'
import { describeLeftOut, type ExportedFile, type ExportSource, writeExport } from '../../../lab/export/plan.js'
import { composeLine } from '../../../lab/containers/docker.js'
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

/** Adds the command `export` to `compose` or `kubernetes`, with the arguments and flags that both have. */
const exportCommand = (parent: TypedCommand, about: string) =>
  parent
    .command('export')
    .argument('[topology]', 'included topology, such as pr-dr; required unless --file is set')
    .flag('-f, --file <file>', 'your own topology file (YAML)')
    .flag('--out <directory>', 'directory for the files (default: print a single file)')
    .flag('--image <image>', 'image of the servers', 'understudy')
    .flag('--force', 'replace existing files')
    .addOption(formerOutputFlag())
    .description(about)

/** Returns a hidden flag that fails with a hint to `--out`, its new name. In other commands, `--output` is a format. */
const formerOutputFlag = (): Option =>
  new Option('-o, --output <directory>').hideHelp().argParser((directory: string) => {
    throw new InvalidArgumentError(`Use --out ${directory}. In other commands, --output selects a format.`)
  })

/**
 * Reads the topology, and warns of the parts that an export omits. `hasLinks`: true if it has a lab daemon. Throws
 * LabError `usage` unless exactly one topology is specified.
 */
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

/**
 * Writes the files to the directory of `--out` and returns it. Without `--out`, prints the only file. Throws LabError
 * `usage` if there are several files but no directory.
 */
const writeOrPrint = (
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
 * `understudy compose export`: writes a topology as files for `docker compose up`. `understudy compose secrets` runs in
 * the first container of such an export and creates the secrets, so that no file on the host contains them.
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
    .run(async (flags, name: string | undefined) => {
      const hosts = flags.hosts === undefined ? undefined : parseHosts(flags.hosts)
      const hasLinks = flags.links && hosts === undefined
      const directory = writeOrPrint(
        exportCompose(readSource(name, flags, output, hasLinks), { image: flags.image, hosts, hasLinks }),
        flags,
        output,
      )
      if (directory === undefined) return
      const up = await composeLine('up -d')
      const word = shellWord(directory)
      output.progress(
        hosts
          ? `copy each directory to the host with the same name, and run "${up}" there`
          : `next: (cd ${word} && ${up}); understudy attach NAME --compose ${word}`,
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
      const hosts = parseList(tls, /^[A-Za-z0-9][\w.-]*$/, 'a host name')
      const clusters = parseList(seal, /^[A-Z]$/, 'a cluster name from A to Z')
      if (hosts.length + clusters.length === 0)
        throw new LabError('usage', 'nothing to generate: specify --tls, --seal or both')
      const surroundings = { random: createSystemRandom(), nowMs: systemClock.now() }
      const made = await makeSecrets(directory, { hosts, clusters }, surroundings)
      output.data(
        made.length === 0 ? `all files already exist in ${directory}` : `created in ${directory}: ${made.join(', ')}`,
      )
    })
  return compose
}

/** Splits a list at its commas. Throws LabError `usage` if an item does not match `form`. */
const parseList = (text: string | undefined, form: RegExp, what: string): string[] => {
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
      writeOrPrint([{ path: 'understudy.yaml', text }], flags, output)
    })
  return kubernetes
}

/** Matches names that are valid for all objects of an export. 47 characters leave space for suffixes. */
const NAME = /^[a-z](?:[-a-z0-9]{0,45}[a-z0-9])?$/

const requireName = (text: string): void => {
  if (!NAME.test(text))
    throw new LabError('usage', `"${text}" is not a Kubernetes name: use at most 47 lowercase letters, digits and "-"`)
}
