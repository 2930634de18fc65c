import type { ComponentChildren } from 'preact'
import { Heads } from '../parts/heads.js'

interface TableProps {
  readonly caption: string
  readonly heads: readonly string[]
  /** True if the rows end with actions. */
  readonly hasActs?: boolean
  readonly children: ComponentChildren
}

/** A table that scrolls horizontally if it is too wide. */
export const Table = ({ caption, heads, hasActs = false, children }: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by the keys
  <section class="scroll" tabIndex={0} aria-label={caption}>
    <table>
      <caption>{caption}</caption>
      <Heads heads={heads} hasActs={hasActs} />
      <tbody>{children}</tbody>
    </table>
  </section>
)
