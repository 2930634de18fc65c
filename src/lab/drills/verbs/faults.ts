import type { LinkFault } from '../../keeper/active-fault.js'
import { findBetween } from '../../keeper/heal-faults.js'
import type { FaultValue, VerbValues } from '../drill.js'
import { durationOf } from '../parse.js'
import type { DrillContext } from '../drill-context.js'

export const setFault = async (context: DrillContext, value: FaultValue): Promise<void> => {
  const { between, 'one-way': isOneWay = false, for: duration } = value
  const ends = `${isOneWay ? ' --one-way' : ''}${duration ? ` --for ${duration}` : ''}`
  context.line(`understudy fault ${value.name} ${between.join(' ')}${argumentOf(value)}${ends}`)
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

/** The argument behind the two clusters on the command line. */
const argumentOf = (value: FaultValue): string => {
  const given = value.delay ?? value.after ?? value.bytes ?? value['bytes-per-second']
  if (given === undefined) return ''
  const unit = value['bytes-per-second'] === undefined ? '' : 'B/s'
  return ` ${given}${unit}${value.jitter ? ` --jitter ${value.jitter}` : ''}`
}

const toLinkFault = (value: FaultValue): LinkFault => {
  const { name, delay = '0s', jitter, after = '0s', bytes = 0, 'bytes-per-second': bytesPerSecond = 0 } = value
  switch (name) {
    case 'latency':
      return { name, ms: durationOf(delay), ...(jitter === undefined ? {} : { jitterMs: durationOf(jitter) }) }
    case 'bandwidth':
      return { name, bytesPerSecond }
    case 'timeout':
    case 'reset_peer':
    case 'slow_close':
      return { name, ms: durationOf(after) }
    case 'slicer':
      return { name, averageBytes: bytes, ...(value.delay === undefined ? {} : { delayMs: durationOf(delay) }) }
    case 'limit_data':
      return { name, bytes }
    default:
      return { name }
  }
}
