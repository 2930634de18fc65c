import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { CHROMIUM } from '../../support/tiers.js'
import { askChild, endChild, forkScript, runNode } from '../child.js'
import type { HourResult, PageJob } from '../page-jobs.js'
import type { Bench } from './context.js'

/** Figure 20: the page of a lab in a real browser. */
export const measurePage = async (bench: Bench): Promise<undefined> => {
  const web = path.join(bench.dist, 'web')
  const bytes = readdirSync(web).reduce((sum, file) => sum + gzipSync(readFileSync(path.join(web, file))).length, 0)
  bench.add('20a', bytes / 1024)
  const chromium = CHROMIUM.find((file) => existsSync(file))
  if (chromium === undefined) {
    bench.say('cannot find Chromium: measuring only the size of the page')
    return undefined
  }
  const browser = forkScript('browser/page.ts', [chromium])
  const ask = <T>(job: PageJob) => askChild<T>(browser, job)
  const name = `bench-page-${process.pid}`
  try {
    await runNode([bench.program, 'up', 'pr-dr', '--ports', 'random', '--name', name])
    for (let round = 0; round < Math.max(bench.rounds, 3); round += 1)
      await withLink(bench, name, async (picture) => bench.add('20b', await ask<number>({ picture })))
    const hour = await ask<HourResult>({ hourOf: web })
    bench.add('20c', hour.afterMb)
    bench.note('page: memory of its script at the beginning of the hour', hour.beforeMb, 'MB')
    bench.note('page: elements after the hour', hour.elements, '')
    bench.add('20d', hour.workedMs)
  } finally {
    endChild(browser)
    await runNode([bench.program, 'down', name])
  }
  return undefined
}

/** Runs `understudy web` until `use` ends. */
const withLink = async (bench: Bench, name: string, use: (link: string) => Promise<void>): Promise<void> => {
  const child = spawn(process.execPath, [bench.program, 'web', name], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = new Promise((resolve) => child.once('close', resolve))
  try {
    const link = await new Promise<string>((resolve, reject) => {
      let text = ''
      child.stdout.on('data', (part: Buffer) => {
        text += part.toString('utf8')
        const [found] = /http:\/\/\S+/.exec(text) ?? []
        if (found !== undefined && text.includes('\n')) resolve(found)
      })
      child.once('close', () => reject(new Error('understudy web exited early')))
    })
    await use(link)
  } finally {
    child.kill('SIGINT')
    await exited
  }
}
