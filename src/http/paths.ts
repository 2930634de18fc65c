/** What paths of the API begin with, and those of our own endpoints. */
export const API = '/v1/'
export const SIDE = '/_understudy/v1/'
