/** Path prefixes of the API and of the Understudy endpoints. */
export const API = '/v1/'
export const SIDE = '/_understudy/v1/'
