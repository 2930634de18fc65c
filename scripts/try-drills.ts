import { execFile } from 'node:child_process'
import path from 'node:path'
import { listDrillNames, loadDrill } from '../src/lab/drills/catalogue.js'
import { runsOn } from '../src/lab/drills/fitting.js'
import { RUNNERS, type Runner } from '../src/lab/drills/drill-schema.js'
import type { DrillResult } from '../src/lab/drills/context/result.js'
import { ROOT } from './support/run.js'

/**
 * Plays the built-in drills with the built program and prints a table: drill, runner, verdict, time, RTO, RPO.
 *
 *   npm run try-drills                        every drill with processes and in one process
 *   npm run try-drills -- docker dr-failover  runners and drills by name
 */
const chosen = process.argv.slice(2)
const isRunner = (word: string): word is Runner => RUNNERS.some((runner) => runner === word)
const runners = chosen.some(isRunner) ? chosen.filter(isRunner) : (['in-process', 'process'] as const)
const wanted = chosen.filter((word) => !isRunner(word))
const unknown = wanted.filter((word) => !listDrillNames().includes(word))
if (unknown.length > 0) throw new Error(`unknown drills: ${unknown.join(', ')}`)
const drills = wanted.length > 0 ? wanted : listDrillNames()

const play = (drill: string, runner: Runner): Promise<{ result: DrillResult | undefined; text: string }> =>
  new Promise((resolve) => {
    const args = [path.join(ROOT, 'dist', 'main.js'), 'drill', 'run', drill, '--on', runner, '--json']
    execFile(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }, (_, stdout, stderr) =>
      resolve({ result: stdout === '' ? undefined : (JSON.parse(stdout) as DrillResult), text: stderr }),
    )
  })

const row = (...cells: readonly string[]): string => cells.map((cell, at) => cell.padEnd(at === 0 ? 28 : 11)).join(' ')
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

console.log(row('drill', 'runner', 'verdict', 'time', 'RTO', 'RPO'))
for (const drill of drills) {
  for (const runner of runners) {
    const loaded = loadDrill(drill)
    if (!runsOn(loaded, runner)) {
      console.log(row(drill, runner, `not possible with this runner; possible runners: ${loaded.runners.join(', ')}`))
      continue
    }
    const startMs = performance.now()
    const { result, text } = await play(drill, runner)
    const rto = result?.rto?.ms
    const rpo = result?.rpo?.writesLost
    console.log(
      row(
        drill,
        runner,
        result?.verdict ?? 'error',
        seconds(performance.now() - startMs),
        typeof rto !== 'number' ? '-' : seconds(rto),
        typeof rpo !== 'number' ? '-' : `${rpo} lost`,
      ),
    )
    if (result?.verdict === 'passed') continue
    process.exitCode = 1
    console.log(text.replace(/^/gm, '    '))
  }
}
