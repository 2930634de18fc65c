/** What the process with the browser is asked: to look at the page of a link, or to keep the page in a directory open for an hour. */
export type PageJob = { readonly picture: string } | { readonly hourOf: string }

export interface Hour {
  /** What the script holds at the beginning and at the end, in MB. */
  readonly beforeMb: number
  readonly afterMb: number
  readonly elements: number
  /** How long its thread worked for one look and one event, in ms. */
  readonly workedMs: number
}
