import { flag } from '../flags.js'

/** The flag of commands that a DR secondary accepts with its operation token. */
export const DR_FLAG = { 'dr-token': flag.text('Operation token, for a DR secondary.') } as const

export const drQuery = (token: string) => ({ query: token ? { dr_operation_token: token } : {} })
