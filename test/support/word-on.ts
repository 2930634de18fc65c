import type { ApiClient } from '../../src/client/api-client.js'

/** Returns the field `word` at a path of a KV version 1 mount, or undefined. */
export const wordOn = async (client: Pick<ApiClient, 'send'>, path: string): Promise<string | undefined> =>
  ((await client.send('GET', path)).json as { data?: { word?: string } } | undefined)?.data?.word
