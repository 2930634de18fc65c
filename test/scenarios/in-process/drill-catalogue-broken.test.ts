import { expect, it } from 'vitest'
import { listDrills, loadDrill } from '../../../src/lab/drills/catalogue.js'
import { DRILL_BREAKS, hurried } from '../../support/drill-breaks.js'
import { playInProcess } from '../../support/drill-player.js'

/** What a drill asserts can be false: with a step left out, or a fault planted, it fails and says what does not hold. */
it.each(DRILL_BREAKS)('$drill fails when $what', async ({ drill, change, fails }) => {
  const { verdict, error, steps, expectations } = await playInProcess(hurried(change(loadDrill(drill))))
  expect(error).toBeNull()
  expect(verdict).toBe('failed')
  const named = [
    ...steps.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name),
    ...expectations
      .filter(({ passed, evidence }) => !passed && !evidence.some((line) => line.startsWith('not looked at')))
      .map(({ text }) => text),
  ]
  expect(named.join('\n')).toMatch(new RegExp(fails.source, 'm'))
})

it('breaks every drill that can be played here', () => {
  const here = listDrills().filter(({ runners }) => runners.length === 0 || runners.includes('in-process'))
  expect(new Set(DRILL_BREAKS.map(({ drill }) => drill))).toEqual(new Set(here.map(({ name }) => name)))
})
