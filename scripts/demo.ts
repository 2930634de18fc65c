import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { ROOT, run } from './support/run.js'

/** Compiles the program, starts three clusters, shows that they replicate, and removes them. */
const NAME = `demo-${process.pid}`
const PROGRAM = 'dist/main.js'

/** Starts the lab, and omits the next steps that `up` prints, because the demo removes the lab. */
const up = async (): Promise<number> => {
  const args = [PROGRAM, 'up', 'pr-dr', '--ports', 'random', '--prove', '--name', NAME]
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? 1)))
  for await (const line of createInterface(child.stdout)) if (!line.startsWith('Next: ')) console.log(line)
  return ended
}

const main = async (): Promise<number> => {
  const built = await run('npm', ['run', 'build', '--silent'])
  if (built !== 0) return built
  const shown = (await up()) || (await run(process.execPath, [PROGRAM, 'status', '--name', NAME]))
  const down = await run(process.execPath, [PROGRAM, 'down', '--name', NAME])
  if (shown === 0)
    console.log('The demo lab was removed. `understudy up pr-dr` starts a lab that stays: docs/how-to/run-a-lab.md.')
  return shown || down
}

process.exitCode = await main()
