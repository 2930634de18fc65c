import { rmSync } from 'node:fs'
import { claimLab } from '../processes/claim.js'
import { requireLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import type { LabImage } from './manifest.js'
import { snapshotPath } from './kept.js'
import { openingDirectory, packSnapshot, prepareSnapshot, unpackSnapshot } from './snapshot-file.js'
import { takeLabImage } from './take-image.js'

interface SaveOptions {
  /** Replaces an existing snapshot. */
  readonly isForced: boolean
  readonly signal?: AbortSignal | undefined
}

/** Saves the current state of a lab, under a name or in a file. `pausedMs`: how long writes waited. */
export const saveSnapshot = async (
  name: string,
  nameOrFile: string,
  { isForced, signal }: SaveOptions,
  host: LabHost,
): Promise<{ readonly file: string; readonly pausedMs: number }> => {
  const file = snapshotPath(nameOrFile)
  const lab = requireLab(name)
  const claim = claimLab(name, 'changed', host.me, host.table)
  let directory: string | undefined
  try {
    directory = prepareSnapshot(file, isForced, host)
    const { pausedMs } = await takeLabImage(lab, directory, host, signal)
    await packSnapshot(directory, file, signal)
    return { file, pausedMs }
  } finally {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
    claim.release()
  }
}

/** Runs work with the validated image of a snapshot. Deletes the image afterwards. */
export const withSnapshot = async <T>(
  nameOrFile: string,
  host: LabHost,
  work: (image: LabImage) => Promise<T>,
): Promise<T> => {
  const directory = openingDirectory(host)
  try {
    return await work({ directory, manifest: await unpackSnapshot(snapshotPath(nameOrFile), directory) })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
