interface HeadsProps {
  readonly heads: readonly string[]
  /** Whether the rows end with things to do. */
  readonly hasActs?: boolean
}

/** The heads of the columns of a table. */
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
