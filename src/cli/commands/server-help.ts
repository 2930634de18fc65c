import { describeServerFlags } from '../../server/config/flags.js'
import { examples } from '../terminal/command.js'

const HELP_FLAGS: ReadonlySet<string> = new Set(['-h', '-help', '--help'])

export const asksForHelp = (args: readonly string[]): boolean => args.some((arg) => HELP_FLAGS.has(arg))

/** The help of `understudy server`. Its flags are Vault's, so the parser of the other commands does not handle them. */
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

/** The help of `understudy config show`, which accepts the flags of the server. */
export const describeConfigShow = (): string =>
  [
    'Usage: understudy config show [options]',
    '',
    'Print the effective configuration of a server. The exit code is 1 if the server would not start.',
    '',
    'Options:',
    '  --origin  add the flag, variable, file and line of each value',
    '  --json    print JSON with sources, warnings and problems',
    '  -h, -help  print this help',
    '',
    'Options of server:',
    describeServerFlags(),
    examples('config show -config=server.hcl', 'config show --origin -dev -data-dir=./data'),
  ].join('\n')
