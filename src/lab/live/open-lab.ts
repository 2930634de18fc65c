import { isAttached } from '../model/cluster.js'
import { requireAnyLab } from '../model/lab-directory.js'
import type { LabHost } from '../processes/lab-host.js'
import type { LiveLab } from './live-lab.js'
import { openAttachedLab } from './attached-driver.js'
import { openProcessLab } from './process-driver.js'

/** Opens the lab of this name, of any kind. */
export const openLab = (name: string, host: LabHost): LiveLab => {
  const lab = requireAnyLab(name)
  return isAttached(lab) ? openAttachedLab(lab, host) : openProcessLab(name, host)
}
