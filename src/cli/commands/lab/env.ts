import { systemClock } from '../../../base/clock.js'
import { SHELLS, type Shell, setVariable, shellComment } from '../../../base/shell.js'
import type { Command, ErrorOptions } from 'commander'
import { type AnyLab, type ClusterAccess, withClusterKeys } from '../../../lab/model/cluster.js'
import { type ClientEnvironment, environmentOf, findByRole, ROLES, type Role } from '../../../lab/keys/environment.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { requireAnyLab, saveLab } from '../../../lab/model/lab-directory.js'
import { atActiveNodes } from '../../../lab/nodes/nodes.js'
import { chooseClusters, findNode } from '../../../lab/nodes/choose.js'
import { runInForeground } from '../../../lab/runner/foreground.js'
import { TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'

const ROLE = ['--role <role>', 'select the cluster that has this role now', ROLES] as const

/** `understudy env`: prints the environment variables with which clients reach a cluster. */
export const envCommand = (output: Output): Command =>
  new TypedCommand('env')
    .description('print VAULT_ADDR and VAULT_TOKEN of a cluster for eval')
    .argument('[cluster]', 'cluster, or a node such as A2 (default: A)')
    .lab()
    .choice(...ROLE)
    .choice('--shell <shell>', 'syntax of the printed lines', SHELLS, 'bash')
    .json()
    .addHelpText('after', '\nExamples:\n  eval "$(understudy env A)"\n  eval "$(understudy env --role dr-primary)"')
    .run(async (flags, cluster: string | undefined) => {
      const environment = await findEnvironment(cluster, flags)
      output.data(
        flags.json ? JSON.stringify(variablesOf(environment), undefined, 2) : toShell(environment, flags.shell),
      )
    })

/** A command that runs another program. Its error for an unknown flag adds that flags of the program follow `--`. */
class CommandWithProgram extends TypedCommand {
  override error(message: string, options?: ErrorOptions): never {
    const isFlag = options?.code === 'commander.unknownOption'
    return super.error(isFlag ? `${message}\n${FLAGS_HINT}` : message, options)
  }
}

const FLAGS_HINT = 'Put the command and its flags after "--": understudy exec A -- ls -la'

/** `understudy exec A -- command`: runs a program with the environment of a cluster. Exits with its exit code. */
export const execCommand = (finish: (status: number) => void): Command =>
  new CommandWithProgram('exec')
    .description('run a command with the environment of one cluster')
    .argument('<cluster>', 'cluster, or a node such as A2')
    .argument('<command...>', 'the command and its arguments, after --')
    .lab()
    .examples('exec C -- go test ./...', 'exec A --name drill -- vault status')
    .run(async (flags, cluster: string, [program = '', ...args]: string[]) => {
      finish(await runIn(flags.name, await findEnvironment(cluster, flags), program, args))
    })

/** `understudy shell A`: starts a shell with the environment of a cluster. */
export const shellCommand = (finish: (status: number) => void): Command =>
  new TypedCommand('shell')
    .description('open a shell with the environment of one cluster')
    .argument('[cluster]', 'cluster, or a node such as A2 (default: A)')
    .lab()
    .choice(...ROLE)
    .examples('shell A', 'shell --role performance-primary')
    .run(async (flags, cluster: string | undefined) =>
      finish(await runIn(flags.name, await findEnvironment(cluster, flags), process.env.SHELL || '/bin/sh', [])),
    )

const findEnvironment = async (
  name: string | undefined,
  flags: { readonly name: string; readonly role?: Role },
): Promise<ClientEnvironment> => {
  const record = requireAnyLab(flags.name)
  const lab = await atActiveNodes(record, systemClock)
  const found = name === undefined ? undefined : findNode(record.clusters, name)
  const cluster = await chooseCluster(lab, found?.cluster.name ?? name, flags.role)
  const keep = (rootToken: string) => saveLab(withClusterKeys(record, cluster.name, { rootToken }))
  return environmentOf(lab, cluster, keep, found?.server)
}

const chooseCluster = async (lab: AnyLab, name: string | undefined, role: Role | undefined): Promise<ClusterAccess> => {
  if (name !== undefined && role !== undefined) throw new LabError('usage', 'specify a cluster or --role, not both')
  if (role !== undefined) return findByRole(lab, role)
  const [found] = chooseClusters(lab, name === undefined ? [] : [name])
  if (!found) throw new LabError('usage', `the lab "${lab.name}" has no clusters`)
  return found
}

const variablesOf = ({ address, caFile, token }: ClientEnvironment): Record<string, string> => ({
  VAULT_ADDR: address,
  ...(caFile === undefined ? {} : { VAULT_CACERT: caFile }),
  ...(token === undefined ? {} : { VAULT_TOKEN: token }),
})

const toShell = ({ address, caFile, token, note }: ClientEnvironment, shell: Shell): string =>
  [
    setVariable('VAULT_ADDR', address, shell),
    // Unsets VAULT_CACERT if the shell still has the value of another lab, and this lab has no CA.
    ...(caFile === undefined && process.env.VAULT_CACERT === undefined
      ? []
      : [setVariable('VAULT_CACERT', caFile, shell)]),
    setVariable('VAULT_TOKEN', token, shell),
    ...(note === undefined ? [] : [shellComment(note, shell)]),
  ].join('\n')

const runIn = (
  lab: string,
  environment: ClientEnvironment,
  program: string,
  args: readonly string[],
): Promise<number> => {
  const { VAULT_TOKEN: _, VAULT_CACERT: _authority, ...inherited } = process.env
  return runInForeground(program, args, { ...inherited, ...variablesOf(environment), UNDERSTUDY_LAB: lab })
}
