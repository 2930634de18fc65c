import { afterAll, expect, inject, it } from 'vitest'
import { listDrills } from '../../src/lab/drills/catalogue.js'
import { runsOn } from '../../src/lab/drills/fitting.js'
import type { Drill } from '../../src/lab/drills/parse.js'
import type { DrillResult } from '../../src/lab/drills/context/result.js'
import { playAlone } from '../support/drill-player.js'
import { LabHome } from '../support/lab-home.js'

/** Every built-in drill passes on each host that can play it. */
const home = new LabHome()
afterAll(() => home[Symbol.asyncDispose]())

const isHere = inject('runner') === 'in-process'

const play = async (drill: Drill): Promise<DrillResult> => {
  if (isHere) return playAlone(drill)
  const { stdout, stderr } = await home.run('drill', 'run', drill.name, '--json')
  expect(stdout, stderr).not.toBe('')
  return JSON.parse(stdout) as DrillResult
}

const playable = listDrills().filter((drill) => runsOn(drill, isHere ? 'in-process' : 'process'))

it.each(playable)('$name', async (drill) => {
  const result = await play(drill)
  expect(result.steps.filter(({ outcome }) => outcome !== 'passed')).toEqual([])
  expect(result.expectations.filter(({ passed }) => !passed)).toEqual([])
  expect(result).toMatchObject({ drill: drill.name, verdict: 'passed', error: null })
  expect(result.expectations.length).toBeGreaterThan(0)
})

it.each(listDrills())(
  '$name describes its symptom, its fix and its duration',
  ({ duration, purpose, symptom = '', fix = '' }) => {
    expect(duration).toMatch(/^\d+s$/)
    for (const text of [purpose, symptom, fix]) expect(text.trim()).toMatch(/^[A-Z].+\.$/s)
  },
)
