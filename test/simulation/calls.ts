/** What a client sends, and what it gets. */

export interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

export interface Call {
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'LIST'
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  readonly token?: string
}
