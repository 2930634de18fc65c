import { readNamedText } from '../../../base/named-file.js'
import { Command } from 'commander'
import { describeLeftOut, type ExportedFile, type ExportSource, writeExport } from '../../../lab/export/plan.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { readTopologyFile, requireTopology } from '../../../lab/topology/catalogue.js'
import type { Output } from '../../terminal/output.js'

export interface ExportFlags {
  readonly file?: string
  readonly output?: string
  readonly force?: true
  readonly image: string
}

/** Defines `understudy NAME export`. The caller adds the action. */
export const exportCommand = (
  name: string,
  { about, after }: { readonly about: string; readonly after: string },
  finish: (command: Command) => Command,
): Command => {
  const command = new Command(name).description(about).addHelpText('after', after)
  finish(withExportOptions(command.command('export')))
  return command
}

/** Adds the arguments and options of every `... export`. */
const withExportOptions = (command: Command): Command =>
  command
    .argument('[topology]', 'an included topology')
    .option('-f, --file <file>', 'your own topology file (YAML)')
    .option('-o, --output <directory>', 'directory for the files (default: print a single file)')
    .option('--image <image>', 'image of the servers', 'understudy')
    .option('--force', 'replace existing files')

/** Reads the topology, and warns of the parts that an export omits. */
export const readSource = (name: string | undefined, { file }: ExportFlags, output: Output): ExportSource => {
  if ((name === undefined) === (file === undefined)) {
    throw new LabError('usage', 'give a topology, such as pr-dr, or a file with --file')
  }
  const topology = file === undefined ? requireTopology(name ?? '') : readTopologyFile(file)
  for (const text of describeLeftOut(topology)) output.complain(`note: ${text}`)
  return { topology, fileText: file === undefined ? undefined : readNamedText(file) }
}

/** Writes the files, or prints a single one. Returns the output directory. */
export const deliver = (
  files: readonly ExportedFile[],
  { output: directory, force }: ExportFlags,
  output: Output,
): string | undefined => {
  const [only, ...others] = files
  if (directory !== undefined) {
    for (const file of writeExport(directory, files, force === true)) output.progress(file)
    return directory
  }
  if (others.length > 0) throw new LabError('usage', `these are ${files.length} files: say where they go with --output`)
  output.data((only?.text ?? '').trimEnd())
  return undefined
}
