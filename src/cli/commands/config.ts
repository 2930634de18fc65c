import { loadServerConfig } from '../../server/config/server-config.js'
import { EXIT } from '../terminal/exit-codes.js'
import { asksForHelp, describeConfigShow } from './server-help.js'
import { formatTable, type Output } from '../terminal/output.js'

/**
 * `understudy config show`: prints the configuration of a server with the same flags, each value with its origin. Takes
 * the flags of `server`, and `--origin` and `--json`. Returns the exit code: 1 if a server with this configuration
 * would not start.
 */
export const runConfigShow = (args: readonly string[], output: Output): number => {
  if (asksForHelp(args)) {
    output.data(describeConfigShow())
    return EXIT.ok
  }
  const isOutputFlag = (arg: string) => /^--?(?:origin|json)$/.test(arg)
  const outputFlags = new Set(args.filter(isOutputFlag).map((arg) => arg.replace(/^-+/, '')))
  const { settings, warnings, problems } = loadServerConfig(
    args.filter((arg) => !isOutputFlag(arg)),
    process.env,
  )
  if (outputFlags.has('json')) output.data(JSON.stringify({ settings, warnings, problems }, undefined, 2))
  else {
    const columns = outputFlags.has('origin') ? ['setting', 'value', 'origin'] : ['setting', 'value']
    const rows = settings.map(({ name, value, origin }) => [name, value, origin].slice(0, columns.length))
    output.data(formatTable([columns, ...rows]))
    for (const { origin, text } of warnings) output.complain(`warning: ${origin}: ${text}`)
    for (const { origin, text } of problems) output.complain(`problem: ${origin}: ${text}`)
  }
  return problems.length > 0 ? EXIT.usage : EXIT.ok
}
