import type { ComponentChildren } from 'preact'

interface TableProps {
  readonly caption: string
  readonly heads: readonly string[]
  /** True if the rows end with actions. */
  readonly hasActs?: boolean
  readonly children: ComponentChildren
}

export const PlainTable = ({ caption, heads, hasActs = false, children }: TableProps) => (
  <table>
    <caption>{caption}</caption>
    <thead>
      <tr>
        {heads.map((head) => (
          <th key={head} scope="col">
            {head}
          </th>
        ))}
        {hasActs && <td class="acts" />}
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)

/** A table that scrolls horizontally if it is too wide. */
export const Table = (props: TableProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard user must be able to scroll it
  <section class="scroll" tabIndex={0} aria-label={props.caption}>
    <PlainTable {...props} />
  </section>
)

type Fact = readonly [name: string, value: ComponentChildren]

/** Facts with their names. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** The place of a response that has not arrived, or the reason why it does not. */
export const Pending = ({ error }: { readonly error: string }) => (
  <p class={error === '' ? 'nothing' : 'error'}>{error || 'asking …'}</p>
)
