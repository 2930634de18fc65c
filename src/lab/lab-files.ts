import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import type { LabRecord } from './cluster.js'
import { LabError } from './lab-error.js'

/** Where labs are remembered: `$XDG_STATE_HOME/understudy/labs`. */
export const labsDirectory = (): string =>
  path.join(process.env.XDG_STATE_HOME || path.join(homedir(), '.local', 'state'), 'understudy', 'labs')

/** `lab.json` and what else belongs to one lab, for the owner's eyes only. */
const stateDirectory = (name: string): string => {
  if (!/^[A-Za-z0-9][\w.-]*$/.test(name)) throw new LabError('usage', `"${name}" is not a name for a lab`)
  return path.join(labsDirectory(), name)
}

const recordFile = (name: string): string => path.join(stateDirectory(name), 'lab.json')

/** A directory for the data of a lab; `down` removes it. */
export const makeDataDirectory = (name: string): string => mkdtempSync(path.join(tmpdir(), `understudy-${name}-`))

export const saveLab = (lab: LabRecord): void => {
  mkdirSync(stateDirectory(lab.name), { recursive: true, mode: 0o700 })
  writeFileSync(recordFile(lab.name), `${JSON.stringify(lab, undefined, 2)}\n`, { mode: 0o600 })
}

export const findLab = (name: string): LabRecord | undefined => {
  const file = recordFile(name)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as LabRecord) : undefined
}

export const requireLab = (name: string): LabRecord => {
  const lab = findLab(name)
  if (!lab) throw new LabError('usage', `there is no lab "${name}"; start one with "understudy up pr-dr"`)
  return lab
}

export const forgetLab = (lab: LabRecord): void => {
  rmSync(lab.directory, { recursive: true, force: true })
  rmSync(stateDirectory(lab.name), { recursive: true, force: true })
}
