import { Argument, type Command } from 'commander'
import { createSystemRandom } from '../../../base/random.js'
import { requireAnyLab } from '../../../lab/model/lab-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { currentLabDefault, TypedCommand } from '../../terminal/command.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import type { Output } from '../../terminal/output.js'
import { parsePort } from './options.js'

/** `understudy web`: serves one page for all clusters of a lab until it is interrupted, which is the normal end. */
export const webCommand = (output: Output): Command =>
  new TypedCommand('web')
    .description('serve a web page that shows and controls a lab')
    .addArgument(new Argument('[lab]', 'name of the lab').default(...currentLabDefault()))
    .flag('--port <port>', 'port on 127.0.0.1 (default: a free port)')
    .flag('--read-only', 'disable all actions of the page (default: enabled)')
    .examples('web', 'web drill --port 8299 --read-only')
    .run(async ({ port, readOnly = false }, name: string) => {
      requireAnyLab(name)
      const at = port === undefined ? 0 : parsePort(port)
      // Imported only here, because no other command needs a server.
      const [{ Feed }, { servePage }, { JobRunner }] = await Promise.all([
        import('../../../lab/web/server/feed.js'),
        import('../../../lab/web/server/page-server.js'),
        import('../../../lab/web/actions/job-runner.js'),
      ])
      await withInterrupt(async ({ signal }) => {
        const host = thisHost()
        const feed = new Feed(name, host, { isReadOnly: readOnly })
        await using jobs = new JobRunner(name, host, (work) => feed.sendWork(work))
        await using page = await servePage({
          port: at,
          random: createSystemRandom(),
          feed,
          jobs: readOnly ? undefined : jobs,
          proxied: { lab: () => requireAnyLab(name), isReadOnly: readOnly },
        })
        output.data(page.newLink())
        output.progress('the link works once, in one browser; press Ctrl-C to stop')
        // Suppresses progress messages about unresponsive servers, because the page shows them.
        output.suppressProgress()
        await feed.run(signal)
        const { unfinished } = jobs
        if (unfinished.length > 0) output.complain(`waiting for running actions: ${unfinished.join('; ')}`)
      })
    })
