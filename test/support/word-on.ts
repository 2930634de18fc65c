import type { ApiClient } from '../../src/client/api-client.js'

/** What is written as `word` at a path of a KV mount of version 1; undefined where there is nothing. */
export const wordOn = async (client: Pick<ApiClient, 'send'>, path: string): Promise<string | undefined> =>
  ((await client.send('GET', path)).json as { data?: { word?: string } } | undefined)?.data?.word
