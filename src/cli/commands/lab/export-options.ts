import { readNamedText } from '../../../base/named-file.js'
import { describeLeftOut, type ExportedFile, type ExportSource, writeExport } from '../../../lab/export/plan.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { readTopologyFile, requireTopology } from '../../../lab/topology/catalogue.js'
import type { FlagsOf, TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'

/** The flags of every export. */
type ExportFlags = FlagsOf<ReturnType<typeof exportCommand>>

/** Defines `understudy NAME export` below its parent, with the common arguments and flags. */
export const exportCommand = (parent: TypedCommand, about: string) =>
  parent
    .command('export')
    .argument('[topology]', 'an included topology')
    .flag('-f, --file <file>', 'your own topology file (YAML)')
    .flag('-o, --output <directory>', 'directory for the files (default: print a single file)')
    .flag('--image <image>', 'image of the servers', 'understudy')
    .flag('--force', 'replace existing files')
    .description(about)

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
