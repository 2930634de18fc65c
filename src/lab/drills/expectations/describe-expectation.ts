import { type Expectation, listOf } from '../drill.js'
import { describeWanted } from '../matcher.js'

const client = (kind: string | undefined): string => (kind === undefined ? '' : ` of clients of the kind ${kind}`)

/** Describes an expectation in English. */
export const describeExpectation = (expectation: Expectation): string => {
  switch (expectation.about) {
    case 'rto': {
      const { 'at-most': most, 'at-least': least, client: kind } = expectation.with
      const bounds = [most && `at most ${most}`, least && `at least ${least}`].filter(Boolean).join(' and ')
      return `rto${client(kind)} ${bounds}`
    }
    case 'rpo':
      return `rpo${client(expectation.with.client)}: writes lost ${describeWanted(expectation.with['writes-lost'])}`
    case 'tokens':
      return `tokens survived: ${expectation.with.survived}`
    case 'writes': {
      const { 'accepted-by': by, on, lost } = expectation.with
      return `writes${by ? ` that ${by} accepted` : ''} missing on ${on}: ${describeWanted(lost)}`
    }
    case 'refusals': {
      const { count, containing, cluster } = expectation.with
      return `refusals${cluster ? ` by ${cluster}` : ''}${containing ? ` with "${containing}"` : ''}: ${describeWanted(count)}`
    }
    case 'roots': {
      const { equal, differ } = expectation.with
      return `merkle roots of ${equal.join(', ')} are ${differ ? 'different' : 'equal'}`
    }
    case 'values': {
      const { path, on, is, differ } = expectation.with
      const wanted = is === undefined ? '' : `: ${describeWanted(is)}`
      return `${path} reads ${differ ? 'differently' : 'the same'} on ${listOf(on).join(', ')}${wanted}`
    }
    case 'absent':
      return `${expectation.with.path} is not there on ${listOf(expectation.with.on).join(', ')}`
    case 'known-secondaries': {
      const { cluster, kind, are } = expectation.with
      return `${cluster} knows as ${kind} secondaries: ${are.join(', ') || 'none'}`
    }
    case 'primaries':
      return `${expectation.with.kind} primaries are: ${expectation.with.are.join(', ') || 'none'}`
    case 'status': {
      const { cluster, kind, is } = expectation.with
      return `${kind} status of ${cluster} has ${describeWanted(is)}`
    }
    case 'health':
      return `sys/health of ${listOf(expectation.with.cluster).join(', ')} answers ${expectation.with.is}`
    case 'lag': {
      const { primary, secondary, entries } = expectation.with
      return `${secondary} lacks entries of ${primary}: ${describeWanted(entries)}`
    }
    case 'metrics': {
      const { cluster, name, is, absent } = expectation.with
      return `metric ${name} of ${cluster} is ${absent ? 'absent' : describeWanted(is)}`
    }
    case 'losses':
      return `entries that ${expectation.with.cluster} notes as lost: ${describeWanted(expectation.with.entries)}`
    case 'call': {
      const { cluster, method = 'GET', path } = expectation.with
      return `${method} ${path} on ${cluster} is answered as expected`
    }
  }
}
