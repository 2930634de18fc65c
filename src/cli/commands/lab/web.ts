import { Command } from 'commander'
import { createSystemRandom } from '../../../base/random.js'
import { requireAnyLab } from '../../../lab/model/lab-directory.js'
import { type LabHost, thisHost } from '../../../lab/processes/lab-host.js'
import { examples } from '../../terminal/help.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import type { Output } from '../../terminal/output.js'
import { parsePort } from './options.js'

interface WebFlags {
  readonly port?: string
  readonly readOnly?: boolean
}

/** `understudy web`: serves one page for all clusters of a lab until it is interrupted, which is the normal end. */
export const webCommand = (output: Output, makeHost: () => LabHost = thisHost): Command =>
  new Command('web')
    .description('serve a web page on 127.0.0.1 that shows and controls a lab, and print its link')
    .argument('[lab]', 'name of the lab', 'default')
    .option('--port <port>', 'port (default: a free port)')
    .option('--read-only', 'disable all actions of the page')
    .addHelpText('after', examples('web', 'web drill --port 8299 --read-only'))
    .action(async (name: string, { port, readOnly = false }: WebFlags) => {
      requireAnyLab(name)
      const at = port === undefined ? 0 : parsePort(port)
      // Imported only here, because no other command needs a server.
      const [{ Feed }, { servePage }, { JobRunner }] = await Promise.all([
        import('../../../lab/web/server/feed.js'),
        import('../../../lab/web/server/page-server.js'),
        import('../../../lab/web/actions/job-runner.js'),
      ])
      await withInterrupt(async ({ signal }) => {
        const host = makeHost()
        const feed = new Feed(name, host, { isReadOnly: readOnly })
        await using jobs = new JobRunner(name, host, (work) => feed.tellWork(work))
        await using page = await servePage({
          port: at,
          random: createSystemRandom(),
          feed,
          jobs: readOnly ? undefined : jobs,
          proxied: { lab: () => requireAnyLab(name), isReadOnly: readOnly },
        })
        output.data(page.newLink())
        output.progress('the link works once, in one browser; Ctrl-C ends the page')
        // The page shows unresponsive servers.
        output.hush()
        await feed.run(signal)
        const { unfinished } = jobs
        if (unfinished.length > 0) output.complain(`waiting for the end of: ${unfinished.join('; ')}`)
      })
    })
