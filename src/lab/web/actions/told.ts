import type { PageDrill } from '../page-facts.js'

/** Told of what is done, while it is done. */
export interface Told {
  say(text: string): void
  /** A line of a shell that stands for what is called. */
  call(line: string): void
  show(drill: PageDrill): void
}
