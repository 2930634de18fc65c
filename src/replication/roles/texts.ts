import { kindName } from '../model/guard-texts.js'
import type { Straggler } from './drain.js'
import type { Ahead } from '../model/state.js'
import type { Kind } from '../model/types.js'

/** Warnings of role changes. Clients match fragments of them; the sentences are specific to Understudy. */

const PAUSE = 'The server will be unavailable for a brief period and become active again shortly.'

const describeStraggler = ({ secondaryId, isConnected, fromIndex }: Straggler): string =>
  `"${secondaryId}"${isConnected ? '' : ' (not connected)'} has not applied it from index ${fromIndex} on`

export const WARNINGS = {
  primaryEnabled: (kind: Kind) =>
    `This cluster is being enabled as a primary for replication (${kindName(kind)}). ${PAUSE}`,
  demoted: (kind: Kind) => `This cluster is being demoted to a replication secondary (${kindName(kind)}). ${PAUSE}`,
  notCaughtUp: (lastIndex: number, stragglers: readonly Straggler[]) =>
    `Not every secondary has everything up to index ${lastIndex}: ${stragglers.map(describeStraggler).join(', ')}. What it ` +
    'does not have is lost if it is promoted.',
  promoted: (kind: Kind) => `This cluster is being promoted to a replication primary (${kindName(kind)}). ${PAUSE}`,
  disabled: (kind: Kind) => `This cluster is having replication disabled (${kindName(kind)}). ${PAUSE}`,
  joining:
    'This cluster has successfully found secondary information. It will be unavailable until it is set up as a ' +
    'secondary and the initial sync with the primary cluster is complete.',
  aheadOfPrimary: ({ index, commonIndex }: Ahead) =>
    `This cluster has entries of its primary up to index ${index}, of which that primary has those up to ${commonIndex} alone. ` +
    'While that is so it follows no primary: use recover or reindex with "force" to give up what only this cluster has, or promote it.',
  forgot: (kind: Kind) =>
    `This cluster no longer knows a primary (${kindName(kind)}) and will not connect to one until it is given a token.`,
  moved: (address: string) => `The primary answered at ${address}, which is recorded as its address.`,
  reindexing: 'The merkle trees are being rebuilt in the background; the status shows the progress.',
  damaged: (damage: readonly string[]) =>
    `The data of this cluster is damaged: ${damage.join('; ')}. Keys may be missing. Put its files back as they were, let ` +
    'a secondary take its place, or give it a full copy.',
  recovering: 'Replication is being restarted from its stored state.',
  stillConnected: (ids: readonly string[]) =>
    `Secondaries were connected and are cut off; they need new activation tokens: ${ids.join(', ')}.`,
  noPerformancePrimary: 'The performance replication set has no primary until another cluster is promoted.',
  noApiAddress:
    'No API address is configured for this cluster, so none could be embedded in the token: give primary_api_addr ' +
    'when the secondary is enabled.',
  unknownPath: (path: string) => `"${path}" is neither a mount nor a namespace now; it is kept and has no effect yet.`,
  ignoredPath: (path: string) => `"${path}" names nothing and was ignored.`,
  allowsNothing: 'The filter allows nothing that is there: all data of mounts is kept from the secondary.',
  deniesNothing: 'The filter denies nothing that is there: nothing is kept from the secondary.',
} as const
