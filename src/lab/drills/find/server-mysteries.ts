import type { LiveLab } from '../../live/live-lab.js'
import type { Mystery } from './mystery.js'

const OWN = '/_understudy/v1'
const TIMEOUT_MS = 30_000
const SKEW_SECONDS = 2400
/** Clocks on one machine never differ this much without a fault. */
const SKEW_NOTICED_MS = 60_000

const healthOf = async (lab: LiveLab, name: string): Promise<Readonly<Record<string, unknown>>> => {
  const { json = {} } = await lab.anonymous(name).with({ timeoutMs: 2000 }).send('GET', 'sys/health')
  return json
}

const sealed: Mystery = {
  name: 'sealed-secondary',
  fits: ({ kind }) => kind === 'performance',
  plant: async (lab, { secondary }) => void (await lab.work('seal', secondary, TIMEOUT_MS)),
  isThere: async (lab, { secondary }) => (await healthOf(lab, secondary)).sealed !== false,
  tell: ({ secondary }) => ({
    what: `${secondary} was sealed`,
    seen: `sys/health and sys/seal-status of ${secondary} say so; everything else answers 503`,
    mend: [`unseal ${secondary}`],
  }),
}

const paused: Mystery = {
  name: 'paused-server',
  fits: () => true,
  plant: async (lab, { secondary }) => void (await lab.work('pause', secondary, TIMEOUT_MS)),
  isThere: async (lab, { secondary }) => (await healthOf(lab, secondary)).sealed === undefined,
  tell: ({ secondary }) => ({
    what: `the process of ${secondary} was frozen (SIGSTOP)`,
    seen: `${secondary} takes connections and never answers; its process is in state T`,
    mend: [`resume ${secondary}`],
  }),
}

const stopped: Mystery = {
  name: 'stopped-server',
  fits: () => true,
  plant: async (lab, { secondary }) => void (await lab.work('stop', secondary, TIMEOUT_MS)),
  isThere: async (lab, { secondary }) => (await healthOf(lab, secondary)).sealed !== false,
  tell: ({ secondary }) => ({
    what: `the server of ${secondary} had been stopped`,
    seen: `connections to ${secondary} are refused; its log ends with an orderly shutdown`,
    mend: [`start ${secondary}`],
  }),
}

const skewed: Mystery = {
  name: 'skewed-clock',
  fits: () => true,
  async plant(lab, { secondary }) {
    await lab.anonymous(secondary).call('POST', `${OWN}/clock`, { body: { skew: `${SKEW_SECONDS}s` } })
  },
  async isThere(lab, { secondary }) {
    const { server_time_utc: seconds } = await healthOf(lab, secondary)
    return Math.abs(Number(seconds) * 1000 - lab.clock.now()) > SKEW_NOTICED_MS
  },
  tell: ({ secondary }) => ({
    what: `the clock of ${secondary} was ${SKEW_SECONDS / 60} minutes ahead`,
    seen: `server_time_utc in sys/health of ${secondary} differs from the others; tokens issued there end early elsewhere`,
    mend: [`restart ${secondary}`],
  }),
}

const held: Mystery = {
  name: 'stuck-secondary',
  fits: () => true,
  async plant(lab, { secondary, kind }) {
    await lab.anonymous(secondary).call('POST', `${OWN}/states/hold`, { body: { state: 'apply', kind } })
  },
  async isThere(lab, { secondary }) {
    const { json } = await lab.anonymous(secondary).send('GET', `${OWN}/states`)
    return Array.isArray(json?.states) && json.states.length > 0
  },
  tell: ({ secondary }) => ({
    what: `${secondary} received everything and applied nothing`,
    seen: `${secondary} streams and is connected, while its last_remote_wal stands still and its merkle root differs`,
    mend: [`restart ${secondary}`],
  }),
}

export const SERVER_MYSTERIES: readonly Mystery[] = [sealed, paused, stopped, skewed, held]
