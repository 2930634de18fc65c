import type { Response } from '../../logical/request.js'
import { kindName } from '../model/guard-texts.js'
import type { Straggler } from './drain.js'
import type { Ahead } from '../model/state.js'
import type { Kind } from '../model/types.js'

export const warned = (...warnings: string[]): Response => ({ data: null, warnings })

/** Warnings of role changes. Clients match fragments of Vault's texts. The other texts are specific to Understudy. */

const PAUSE = 'The server will be unavailable for a brief period and become active again shortly.'

const describeStraggler = ({ secondaryId, isConnected, fromIndex }: Straggler): string =>
  `"${secondaryId}"${isConnected ? '' : ' (not connected)'} has not applied the entries from index ${fromIndex} on`

export const WARNINGS = {
  primaryEnabled: (kind: Kind) =>
    `This cluster is being enabled as a primary for replication (${kindName(kind)}). ${PAUSE}`,
  demoted: (kind: Kind) => `This cluster is being demoted to a replication secondary (${kindName(kind)}). ${PAUSE}`,
  // `lab/operations` matches the beginning of this text, to detect that a failover would lose writes.
  notCaughtUp: (lastIndex: number, stragglers: readonly Straggler[]) =>
    `Not every secondary has everything up to index ${lastIndex}: ${stragglers.map(describeStraggler).join(', ')}. ` +
    'Entries that a secondary does not have are lost if it is promoted.',
  promoted: (kind: Kind) => `This cluster is being promoted to a replication primary (${kindName(kind)}). ${PAUSE}`,
  disabled: (kind: Kind) => `This cluster is having replication disabled (${kindName(kind)}). ${PAUSE}`,
  joining:
    'This cluster has successfully found secondary information. It will be unavailable until it is set up as a ' +
    'secondary and the initial sync with the primary cluster is complete.',
  aheadOfPrimary: ({ index, commonIndex }: Ahead) =>
    `This cluster has entries of its primary up to index ${index}, but the primary has only entries up to ` +
    `${commonIndex}. Until this is resolved, the cluster follows no primary. To discard the data that only this ` +
    'cluster has, use recover or reindex with "force". To keep the data, promote this cluster.',
  forgot: (kind: Kind) =>
    `This cluster no longer knows a primary (${kindName(kind)}). To connect it to a primary, provide a token.`,
  moved: (address: string) => `The primary responded at ${address}. This address is stored.`,
  reindexing: 'The merkle trees are being rebuilt in the background; the status shows the progress.',
  damaged: (damage: readonly string[]) =>
    `The data of this cluster is damaged: ${damage.join('; ')}. Keys may be missing. Restore its files, promote ` +
    'a secondary in its place, or copy all data to it again.',
  recovering: 'Replication is being restarted from its stored state.',
  stillConnected: (ids: readonly string[]) =>
    `Connected secondaries were disconnected; they need new activation tokens: ${ids.join(', ')}.`,
  noPerformancePrimary: 'The performance replication set has no primary until another cluster is promoted.',
  noApiAddress:
    'No API address is configured for this cluster, so the token contains none: set primary_api_addr ' +
    'when the secondary is enabled.',
  unknownPath: (path: string) => `"${path}" is not an existing mount or namespace. It is stored and has no effect yet.`,
  ignoredPath: (path: string) => `"${path}" contains no path and was ignored.`,
  allowsNothing: 'The filter allows no existing mount: the secondary receives no data of mounts.',
  deniesNothing: 'The filter denies no existing mount: the secondary receives all data.',
} as const
