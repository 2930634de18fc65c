import { DEFAULT_REPORTED_VERSION } from '../../server/config/config.js'

/** Scripts take the second word. */
export const versionLine = (): string => `Vault v${DEFAULT_REPORTED_VERSION} (Understudy, an independent simulator)`
