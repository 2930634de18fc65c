import type { Response } from './request.js'

/** Returns the response to a request for a tidy operation. `hasBegun` is false if one is already in progress. */
export const tidyAnswer = (hasBegun: boolean): Response =>
  hasBegun
    ? {
        status: 202,
        warnings: [
          "Tidy operation successfully started. Any information from the operation will be printed to Vault's server logs.",
        ],
        mountType: '',
      }
    : { warnings: ['Tidy operation already in progress.'] }
