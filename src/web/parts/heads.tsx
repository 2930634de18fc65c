interface HeadsProps {
  readonly heads: readonly string[]
  /** True if the rows end with actions. */
  readonly hasActs?: boolean
}

/** The column headers of a table. */
export const Heads = ({ heads, hasActs = false }: HeadsProps) => (
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
)
