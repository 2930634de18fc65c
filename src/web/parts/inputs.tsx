import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

/**
 * Returns `run`, which waits for the request of a form, and its state. After a success, the form stays busy until it
 * closes. `problem`: the error of the last request; empty if there is none.
 */
export const useTask = () => {
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const run = <T,>(work: Promise<T>, done: (value: T) => void): void => {
    setBusy(true)
    setProblem('')
    work.then(done, (error: Error) => {
      setBusy(false)
      setProblem(error.message)
    })
  }
  return { problem, setProblem, isBusy, run }
}

interface ChooserProps {
  readonly id?: string
  readonly 'aria-label'?: string
  readonly 'aria-describedby'?: string
  readonly required?: boolean
  readonly disabled?: boolean
  /** Option elements before `options`, for example groups. */
  readonly children?: ComponentChildren
  readonly value: string
  /** The values, with their labels if the labels differ. */
  readonly options: readonly (string | readonly [value: string, label: string])[]
  readonly onChoose: (value: string) => void
}

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

/** A button that does not submit a form. */
export const Button = ({ label, ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { readonly label: string }) => (
  <button type="button" {...rest}>
    {label}
  </button>
)

interface SearchProps {
  readonly label: string
  readonly value: string
  readonly onSearch: (text: string) => void
}

/** An input that filters a list. */
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
