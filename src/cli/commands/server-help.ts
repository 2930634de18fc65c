import { describeServerFlags } from '../../server/config/flags.js'
import { examples } from '../terminal/help.js'

const HELP_FLAGS: ReadonlySet<string> = new Set(['-h', '-help', '--help'])

export const asksForHelp = (args: readonly string[]): boolean => args.some((arg) => HELP_FLAGS.has(arg))

/** The help of `understudy server`. Its flags are Vault's, so the parser of the other commands does not handle them. */
export const describeServerCommand = (): string =>
  [
    'Usage: understudy server [options]',
    '',
    'run one server until it is told to stop, with -config=PATH or -dev; one dash or two, -flag=value or -flag value',
    '',
    'Options:',
    describeServerFlags(),
    '  -h, -help  Print this',
    examples('server -dev -dev-root-token-id=root', 'server -config=/etc/understudy -log-level=debug'),
  ].join('\n')

/** The help of `understudy config show`, which accepts the flags of the server. */
export const describeConfigShow = (): string =>
  [
    'Usage: understudy config show [options]',
    '',
    'show what a server would run with; status 1 when such a server would not start',
    '',
    'Options:',
    '  --origin  with the flag, variable, file and line that each value came from',
    '  --json    print JSON, with origins, warnings and problems',
    '  -h, -help  Print this',
    '',
    'And those of server:',
    describeServerFlags(),
    examples('config show -config=server.hcl', 'config show --origin -dev -data-dir=./data'),
  ].join('\n')
