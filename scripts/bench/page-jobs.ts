/**
 * Jobs of the process with the browser: open the page of a URL, or keep the built page of a directory open for an hour.
 */
export type PageJob = { readonly picture: string } | { readonly hourOf: string }

export interface HourResult {
  /** Heap of the page at the beginning and at the end, in MB. */
  readonly beforeMb: number
  readonly afterMb: number
  readonly elements: number
  /** Work of the thread of the page for one view and one event, in ms. */
  readonly workedMs: number
}
