#!/usr/bin/env node
const [calledAs = '', ...args] = process.argv.slice(1)

// Each is loaded alone: a shell asks for completions with every press of a key.
if (args[0] === '__complete') {
  const { runComplete } = await import('./cli/completion/run-complete.js')
  process.stdout.on('error', () => undefined)
  process.stdout.write(await runComplete(args.slice(1)))
} else {
  const { main } = await import('./cli/main.js')
  process.exitCode = await main([calledAs, ...args])
}
