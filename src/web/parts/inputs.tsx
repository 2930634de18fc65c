import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface ChooserProps {
  readonly id?: string
  readonly 'aria-label'?: string
  readonly 'aria-describedby'?: string
  readonly required?: boolean
  readonly disabled?: boolean
  /** Further options. */
  readonly children?: ComponentChildren
  readonly value: string
  /** Names, or values with their labels. */
  readonly options: readonly (string | readonly [value: string, label: string])[]
  readonly onChoose: (value: string) => void
}

/** A list of options. */
export const Chooser = ({ value, options, onChoose, children, ...rest }: ChooserProps) => (
  <select {...rest} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
    {children}
    {options.map((option) => {
      const [name, label] = typeof option === 'string' ? [option, option] : option
      return (
        <option key={name} value={name}>
          {label}
        </option>
      )
    })}
  </select>
)

/** A labeled list of options. */
export const ChooserField = ({ label, ...chooser }: ChooserProps & { readonly label: string }) => {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Chooser {...chooser} id={id} />
    </div>
  )
}

interface SearchProps {
  readonly label: string
  readonly value: string
  readonly onSearch: (text: string) => void
}

/** A text that restricts a list. */
export const Search = ({ label, value, onSearch }: SearchProps) => (
  <input
    type="search"
    class="sift"
    aria-label={label}
    placeholder={`${label} …`}
    autocomplete="off"
    value={value}
    onInput={({ currentTarget }) => onSearch(currentTarget.value)}
  />
)
