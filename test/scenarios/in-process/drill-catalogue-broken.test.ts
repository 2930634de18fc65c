import { expect, it } from 'vitest'
import { listDrills, loadDrill } from '../../../src/lab/drills/catalogue.js'
import { runsOn } from '../../../src/lab/drills/fitting.js'
import { DRILL_BREAKS, shortenWaits } from '../../support/drill-breaks.js'
import { failuresOf, playAlone } from '../../support/drill-player.js'

/**
 * Assertions of a drill can fail: with a step left out, or a planted fault, the drill fails and reports the failed
 * assertion.
 */
it.each(DRILL_BREAKS)('$drill fails when $what', async ({ drill, change, fails }) => {
  const result = await playAlone(shortenWaits(change(loadDrill(drill))))
  expect(result).toMatchObject({ error: null, verdict: 'failed' })
  expect(failuresOf(result)).toMatch(new RegExp(fails.source, 'm'))
})

it('every drill that can be played here has a way to break it', () => {
  const here = listDrills().filter((drill) => runsOn(drill, 'in-process'))
  expect(new Set(DRILL_BREAKS.map(({ drill }) => drill))).toEqual(new Set(here.map(({ name }) => name)))
})
