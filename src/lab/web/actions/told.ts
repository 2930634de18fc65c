import type { PageDrill } from '../page-facts.js'

/** Receives the progress of an action. */
export interface Told {
  say(text: string): void
  /** Receives a shell command equivalent to a request. */
  call(line: string): void
  show(drill: PageDrill): void
}
