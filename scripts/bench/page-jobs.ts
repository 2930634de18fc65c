/**
 * Jobs of the browser process: open the page of a URL, or send the data of one hour to the built page of a directory.
 */
export type PageJob = { readonly picture: string } | { readonly hourOf: string }

export interface HourResult {
  /** Heap of the page at the beginning and at the end, in MB. */
  readonly beforeMb: number
  readonly afterMb: number
  readonly elements: number
  /** Work of the thread of the page for one survey and one event, in ms. */
  readonly workedMs: number
}
