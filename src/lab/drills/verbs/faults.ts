import { findBetween } from '../../daemon/active-fault.js'
import { LINK_FAULTS, type LinkFault, makeLinkFault } from '../../proxy/link-faults.js'
import type { FaultValue, VerbValues } from '../drill.js'
import { durationOf } from '../parse.js'
import type { DrillContext } from '../drill-context.js'

export const setFault = async (context: DrillContext, value: FaultValue): Promise<void> => {
  const { between, 'one-way': isOneWay = false, for: duration } = value
  const ends = `${isOneWay ? ' --one-way' : ''}${duration ? ` --for ${duration}` : ''}`
  context.line(`understudy fault ${value.name} ${between.join(' ')}${argumentsOf(value)}${ends}`)
  await context.lab.setFault({
    between,
    isOneWay,
    fault: toLinkFault(value),
    ...(duration === undefined ? {} : { forMs: durationOf(duration) }),
  })
}

export const heal = async (context: DrillContext, value: VerbValues['heal']): Promise<void> => {
  if (value === 'all') {
    context.line('understudy heal --all')
    await context.lab.heal()
    return
  }
  const [one, other] = value.between
  context.line(`understudy heal ${one} ${other}`)
  const found = findBetween(await context.lab.faults(), [one], [other])
  if (found.length > 0) await context.lab.heal(found.map(({ id }) => id))
}

/** Returns the command line arguments after the two clusters. */
const argumentsOf = (value: FaultValue): string =>
  LINK_FAULTS[value.name].fields
    .map(({ key, unit }, index) => {
      const given = value[key]
      if (given === undefined) return ''
      return ` ${index === 0 ? '' : `--${key} `}${given}${unit === 'bytes/s' ? 'B/s' : ''}`
    })
    .join('')

const toLinkFault = (value: FaultValue): LinkFault =>
  makeLinkFault(value.name, ({ key, unit }) => {
    const given = value[key]
    if (given === undefined || unit !== 'ms') return given as number | undefined
    return durationOf(given as string)
  })
