import { describeServerFlags } from '../../server/config/flags.js'
import { examples } from '../terminal/command.js'

const HELP_FLAGS: ReadonlySet<string> = new Set(['-h', '-help', '--help'])

export const asksForHelp = (args: readonly string[]): boolean => args.some((arg) => HELP_FLAGS.has(arg))

/** Returns the help of `understudy server`. Commander cannot print it, because it does not parse the flags of Vault. */
export const describeServerCommand = (): string =>
  [
    'Usage: understudy server [options]',
    '',
    'Run one server with -config=PATH or -dev. Flags have one or two dashes: -flag=value or -flag value.',
    '',
    'Options:',
    describeServerFlags(),
    '  -h, -help  print this help',
    examples('server -dev -dev-root-token-id=root', 'server -config=/etc/understudy -log-level=debug'),
  ].join('\n')

/** Returns the help of `understudy config show`, which accepts the flags of the server. */
export const describeConfigShow = (): string =>
  [
    'Usage: understudy config show [options]',
    '',
    'Print the effective configuration of a server. The exit code is 1 if the server would not start.',
    '',
    'Options:',
    '  --origin   print the origin of each value: flag, environment variable, or file and line',
    '  --json     print JSON with origins, warnings and problems',
    '  -h, -help  print this help',
    '',
    'Options of server:',
    describeServerFlags(),
    examples('config show -config=server.hcl', 'config show --origin -dev -data-dir=./data'),
  ].join('\n')
