import { run, runAll } from './support/run.js'

/** Compiles the program, brings up three clusters, shows that they replicate, and takes them down again. */
const NAME = `demo-${process.pid}`
const PROGRAM = 'dist/main.js'

const main = async (): Promise<number> => {
  const built = await run('npm', ['run', 'build', '--silent'])
  if (built !== 0) return built
  const up = await runAll(
    [process.execPath, PROGRAM, 'up', 'pr-dr', '--ports', 'random', '--prove', '--name', NAME],
    [process.execPath, PROGRAM, 'status', '--name', NAME],
  )
  const down = await run(process.execPath, [PROGRAM, 'down', '--name', NAME])
  if (up === 0) console.log('That lab is gone; `understudy up pr-dr` brings up one that stays: docs/lab.md.')
  return up || down
}

process.exitCode = await main()
