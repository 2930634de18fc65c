import type { ComponentChildren } from 'preact'

interface Row {
  /** The first cell is the name of the row. */
  readonly cells: readonly ComponentChildren[]
  readonly key?: string
  /** Buttons in an additional last cell. */
  readonly actions?: ComponentChildren
  readonly attributes?: { readonly 'data-state': string; readonly 'aria-current': 'true' | undefined }
}

interface TableProps {
  readonly caption: string
  readonly heads: readonly string[]
  readonly rows: readonly Row[]
}

export const PlainTable = ({ caption, heads, rows }: TableProps) => (
  <table>
    <caption>{caption}</caption>
    <Heads heads={heads} hasActions={rows.some(({ actions }) => actions !== undefined)} />
    <tbody>
      {rows.map(({ cells: [name, ...cells], key = String(name), actions, attributes }) => (
        <tr key={key} {...attributes}>
          <th scope="row">{name}</th>
          {cells.map((cell, index) => (
            <td key={index} data-head={heads[index + 1]}>
              {cell}
            </td>
          ))}
          {actions !== undefined && <td class="acts">{actions}</td>}
        </tr>
      ))}
    </tbody>
  </table>
)

/** `hasActions`: true if the rows have an additional last cell with buttons. */
export const Heads = ({ heads, hasActions }: Pick<TableProps, 'heads'> & { readonly hasActions: boolean }) => (
  <thead>
    <tr>
      {heads.map((head) => (
        <th key={head} scope="col">
          {head}
        </th>
      ))}
      {hasActions && <td class="acts" />}
    </tr>
  </thead>
)

/** Scrolls a table horizontally if it is too wide. */
export const Wide = ({ caption, children }: { readonly caption: string; readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard user must be able to scroll it
  <section class="scroll" tabIndex={0} aria-label={caption}>
    {children}
  </section>
)

export const Table = (props: TableProps) => (
  <Wide caption={props.caption}>
    <PlainTable {...props} />
  </Wide>
)

type Fact = readonly [name: string, value: ComponentChildren]

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

/** A placeholder for a pending response, or the error of the request. */
export const Pending = ({ error }: { readonly error: string }) => (
  <p class={error === '' ? 'nothing' : 'error'}>{error || 'Loading …'}</p>
)
