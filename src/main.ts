#!/usr/bin/env node
import { keepHeapSmall } from './base/garbage.js'
import { findNodeProblem } from './base/node-version.js'
import { StopSignals } from './cli/terminal/stop-signals.js'

const [calledAs = '', ...args] = process.argv.slice(1)

/**
 * Runs this process. An older Node.js cannot parse the imported modules, so they are imported only after the check.
 * Completion has its own import, because a shell requests completions at every key press.
 */
const runProcess = async (): Promise<void> => {
  const problem = findNodeProblem(process.versions.node)
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`)
    process.exitCode = 1
  } else if (args[0] === '__complete') {
    const { runComplete } = await import('./cli/completion/run-complete.js')
    process.stdout.on('error', () => undefined)
    process.stdout.write(await runComplete(args.slice(1)))
  } else {
    // A server hears signals before the rest of the program is loaded. V8 rejects saved code if its options were
    // different.
    const isServer = args[args[0] === 'vault' ? 1 : 0] === 'server'
    const signals = isServer ? new StopSignals(() => process.exit(0)) : undefined
    if (isServer) keepHeapSmall()
    const { main } = await import('./cli/program.js')
    process.exitCode = await main([calledAs, ...args], signals)
  }
}

void runProcess()
