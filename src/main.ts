#!/usr/bin/env node
const [calledAs = '', ...args] = process.argv.slice(1)
const NODE_NEEDED = [20, 12] as const
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

// What is loaded below cannot even be read by an older one. Each is loaded alone: a shell asks for completions with every
// press of a key.
if (major < NODE_NEEDED[0] || (major === NODE_NEEDED[0] && minor < NODE_NEEDED[1])) {
  process.stderr.write(
    `understudy needs Node ${NODE_NEEDED.join('.')} or newer, and this is ${process.versions.node}\n`,
  )
  process.exitCode = 1
} else if (args[0] === '__complete') {
  const { runComplete } = await import('./cli/completion/run-complete.js')
  process.stdout.on('error', () => undefined)
  process.stdout.write(await runComplete(args.slice(1)))
} else {
  const { main } = await import('./cli/main.js')
  process.exitCode = await main([calledAs, ...args])
}
