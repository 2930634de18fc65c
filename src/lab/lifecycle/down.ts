import { attempt } from '../../base/attempt.js'
import { isAttached, type LabRecord, serversOfLab, withProcess } from '../model/cluster.js'
import { LabError } from '../model/lab-error.js'
import { LabDaemonClient } from '../daemon/lab-daemon-client.js'
import { claimLab } from '../processes/claim.js'
import { findConfigFiles, findIntactLab, removeData, removeLab, saveLab } from '../model/lab-directory.js'
import { listLabs } from '../model/state-directory.js'
import { removeSocket } from '../processes/launch.js'
import type { LabHost } from '../processes/lab-host.js'
import type { ProcessFacts } from '../model/process-table.js'

interface DownOptions {
  /** Keeps data and keys, so that the servers can be started again. */
  readonly keep: boolean
  /** Its abort kills the remaining processes immediately. */
  readonly forceSignal?: AbortSignal | undefined
}

/** Time for a process to exit after SIGTERM, in milliseconds. After this time, it is killed. */
const STOP_MS = 15_000

/**
 * Stops every server of a lab and deletes its files, even after an incomplete start or with a damaged record. Only
 * unregisters an attached lab (`forgotten`). Resolves to undefined if there is no lab. Rejects with LabError `conflict`
 * if it is claimed.
 */
export const downLab = async (
  name: string,
  options: DownOptions,
  host: LabHost,
): Promise<'down' | 'forgotten' | undefined> => {
  if (!listLabs().includes(name)) return undefined
  using _claim = claimLab(name, 'stopped', host)
  const lab = findIntactLab(name)
  if (lab && isAttached(lab)) {
    removeLab(name)
    return 'forgotten'
  }
  if (!lab && options.keep)
    throw new LabError('conflict', `the record of the lab "${name}" is damaged: omit --keep, which requires the record`)
  if (lab && options.keep) recordStop(lab)
  if (lab) await stopLab(lab, options, host)
  await stopAll(host.servers.findAll(findConfigFiles(name)), options, host)
  if (options.keep) return 'down'
  if (lab) {
    removeData(lab)
    removeSocket(lab.keeper, lab.directory)
  }
  removeLab(name)
  return 'down'
}

/**
 * Records the stop of the servers, because an exit without this record is a crash. A full disk does not prevent the
 * stop.
 */
const recordStop = (lab: LabRecord): void => {
  const stopped = serversOfLab(lab).reduce((rest, { name }) => withProcess(rest, name, null), lab)
  attempt(() => saveLab(stopped))
}

/**
 * Removes the link faults, so that servers can close their connections. Then stops the servers, and the lab daemon
 * last.
 */
export const stopLab = async (
  lab: LabRecord,
  options: Pick<DownOptions, 'forceSignal'>,
  host: LabHost,
): Promise<void> => {
  const { keeper } = lab
  const control = new LabDaemonClient(keeper.socket)
  await control.emit({ kind: 'lab-down', details: {} })
  await control.heal().catch(() => undefined)
  await stopAll(host.servers.findAll(serversOfLab(lab).map(({ configFile }) => configFile)), options, host)
  await stopAll(host.servers.findAll([keeper.configFile]), options, host)
}

export const stopAll = (
  processes: readonly ProcessFacts[],
  { forceSignal }: Pick<DownOptions, 'forceSignal'>,
  { servers }: LabHost,
): Promise<void> => servers.stop(processes, { graceMs: STOP_MS, forceSignal })
