import { expect, it } from 'vitest'
import { loadDrill } from '../../../src/lab/drills/catalogue.js'
import { DRILL_BREAKS, PROCESS_DRILL_BREAKS } from '../../support/drill-breaks.js'

it.each(DRILL_BREAKS)('the drill $drill has the steps that are changed so that $what', ({ drill, change }) => {
  expect(change(loadDrill(drill)).name).toBe(drill)
})

it.each(PROCESS_DRILL_BREAKS)(
  'the drill $drill, broken because $what, fails at one of its steps',
  ({ drill, change, fails }) => {
    const names = change(loadDrill(drill)).steps.map(({ name }) => name)
    expect(names).toContainEqual(expect.stringMatching(fails))
  },
)
