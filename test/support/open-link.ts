import { systemClock } from '../../src/base/clock.js'
import { createSystemRandom } from '../../src/base/random.js'
import { Link } from '../../src/lab/proxy/link.js'

/** Opens a proxy in front of a port of this machine. */
export const openLink = (port: number): Promise<Link> =>
  Link.open({ target: { host: '127.0.0.1', port }, clock: systemClock, random: createSystemRandom() })
